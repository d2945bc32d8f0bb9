/** What builds wait for: one line for each cause, in the order in which they start. */
import { useQuery } from '@tanstack/react-query'
import { formatHolders, textOfReason } from '@windlass/plan'
import type { QueueCause } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { formatSpan } from '../looks/time.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './builds.module.css'

/** Causes that are shown before *Show all*. */
const SHOWN = 4

export function WaitingBox(): ReactElement | null {
  const { data: queue } = useQuery(queries.queue())
  const [isWhole, setIsWhole] = useState(false)
  const now = useNow()
  if (queue === undefined || queue.waiting === 0) return null
  const oldest = Math.min(...queue.items.map(({ since }) => since))
  const shown = isWhole ? queue.items : queue.items.slice(0, SHOWN)
  return (
    <section className={styles['waiting']} aria-label="Waiting builds">
      <h2>
        Waiting: {queue.waiting}, the oldest for {formatSpan(now - oldest)}
      </h2>
      <ul>
        {shown.map((cause, index) => (
          <Cause key={index} cause={cause} now={now} />
        ))}
      </ul>
      {queue.items.length > shown.length && (
        <Button small tone="quiet" onClick={() => setIsWhole(true)}>
          Show all {queue.items.length} causes
        </Button>
      )}
    </section>
  )
}

function Cause({ cause, now }: { readonly cause: QueueCause; readonly now: number }): ReactElement {
  const { waiting, message, reason, nextMs, expiresAt, builds, holders = [], pipeline, runtime } = cause
  const first = builds[0]
  const details = [
    cause.used !== undefined && cause.limit !== undefined ? `${cause.used} of ${cause.limit} run${formatHolders(cause)}` : '',
    nextMs === undefined ? '' : `next place in about ${formatSpan(nextMs)}`,
    expiresAt - now < 86_400_000 ? `given up in ${formatSpan(expiresAt - now)}` : '',
  ].filter((part) => part !== '')
  return (
    <li>
      <b>{waiting}</b>
      <div>
        <p>
          <bdi>{message ?? textOfReason(reason)}</bdi>
        </p>
        {details.length > 0 && <p className="quiet">{details.join(', ')}</p>}
      </div>
      <div className={styles['links']}>
        {holders[0] !== undefined && <Link href={paths.build(holders[0].id)}>Open #{holders[0].number}</Link>}
        {first !== undefined && waiting === 1 ? (
          <ButtonLink small href={paths.build(first.id)}>
            Open #{first.number}
          </ButtonLink>
        ) : (
          <ButtonLink
            small
            href={paths.builds({
              reason: [reason],
              ...(pipeline !== undefined && { pipeline: [pipeline] }),
              ...(runtime !== undefined && { runtime: [runtime] }),
            })}
          >
            Show
          </ButtonLink>
        )}
      </div>
    </li>
  )
}

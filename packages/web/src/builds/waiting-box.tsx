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
import { RaiseCapacity } from './raise-capacity.tsx'
import styles from './builds.module.css'

/** Causes that are shown before *Show all*. */
const SHOWN = 4
/** Reasons that a change of the runtime ends, and of the pipeline. */
const OF_RUNTIMES: ReadonlySet<string> = new Set(['runtime-capacity', 'agent-offline'])
const OF_PIPELINES: ReadonlySet<string> = new Set(['pipeline-limit', 'pipeline-frozen', 'branch-limit', 'trigger-limit'])

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
        {shown.map((cause) => (
          <Cause key={keyOf(cause)} cause={cause} now={now} />
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

function keyOf({ reason, runtime, project, pipeline, branch, trigger }: QueueCause): string {
  return JSON.stringify([reason, runtime, project, pipeline, branch, trigger])
}

function Cause({ cause, now }: { readonly cause: QueueCause; readonly now: number }): ReactElement {
  const {
    waiting,
    message,
    reason,
    nextMs,
    expiresAt,
    builds,
    holders = [],
    project,
    pipeline,
    branch,
    trigger,
    runtime,
    limit,
  } = cause
  const first = builds[0]
  const details = [
    cause.used !== undefined && limit !== undefined ? `${cause.used} of ${limit} run${formatHolders(cause)}` : '',
    `for ${formatSpan(now - cause.since)}`,
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
        {reason === 'runtime-capacity' && runtime !== undefined && <RaiseCapacity runtime={runtime} />}
        {OF_RUNTIMES.has(reason) && runtime !== undefined && <Link href={paths.runtime(runtime)}>Open {runtime}</Link>}
        {OF_PIPELINES.has(reason) && pipeline !== undefined && <Link href={paths.pipeline(pipeline)}>Open {pipeline}</Link>}
        {first !== undefined && waiting === 1 ? (
          <ButtonLink small href={paths.build(first.id)}>
            Open #{first.number}
          </ButtonLink>
        ) : (
          <ButtonLink
            small
            href={paths.builds({
              reason: [reason],
              ...(project !== undefined && { project: [project] }),
              ...(branch !== undefined && { branch: [branch] }),
              ...(trigger !== undefined && { trigger: [trigger] }),
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

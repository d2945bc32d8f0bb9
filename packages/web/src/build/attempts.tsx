/** The attempts of a build: bands above its time line, how each ended, and what the build waited for. */
import { textOfReason } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { formatClock } from '../looks/time.ts'
import { paths, SYSTEM } from '../url/paths.ts'
import { isLost, sentenceOfAttempt } from './attempt-text.ts'
import styles from './attempts.module.css'
import { shareOf, type Span } from './time-line.ts'

/** Waits shorter than this are not named. Milliseconds. */
const LEAST_WAIT_MS = 1_000
const NARROWEST = 1

/** Shows where on the time line each attempt ran. Nothing for a build with one attempt. */
export function AttemptBands({
  build,
  span,
  now,
}: {
  readonly build: Build
  readonly span: Span
  readonly now: number
}): ReactElement | null {
  const attempts = build.attempts ?? []
  if (attempts.length < 2) return null
  return (
    <div className={styles['bands']} aria-hidden>
      <span>Attempts</span>
      <div className={styles['track']}>
        {attempts.map((attempt) => {
          const left = shareOf(attempt.startedAt ?? attempt.createdAt, span)
          const width = Math.max(shareOf(attempt.endedAt ?? now, span) - left, NARROWEST)
          return (
            <div
              key={attempt.number}
              className={styles['band']}
              data-lost={isLost(attempt)}
              style={{ left: `${Math.min(left, 100 - NARROWEST)}%`, width: `${width}%` }}
            >
              {attempt.number}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Says how each attempt ended, with its log, and what the build waited for. */
export function Attempts({ build }: { readonly build: Build }): ReactElement | null {
  const waits = (build.waits ?? []).filter(({ ms }) => ms >= LEAST_WAIT_MS)
  const attempts = build.attempts ?? []
  if (attempts.length === 0 && waits.length === 0) return null
  return (
    <ul className={styles['attempts']} aria-label="Attempts and waits">
      {attempts.map((attempt) => (
        <li key={attempt.number}>
          <bdi>{sentenceOfAttempt(attempt)}</bdi>{' '}
          <Link href={paths.step(build.id, SYSTEM, { attempt: attempt.number })}>Log of the build</Link>
        </li>
      ))}
      {waits.map(({ reason, ms, since }) => (
        <li key={reason}>
          {since === undefined ? 'Waited' : 'Waits'} {formatClock(ms)}: <bdi>{textOfReason(reason)}</bdi>
        </li>
      ))}
    </ul>
  )
}

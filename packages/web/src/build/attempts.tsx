/** The attempts of a build: bands above its time line, how each ended, and what the build waited for. */
import { textOfReason } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { formatClock } from '../looks/time.ts'
import { paths, SYSTEM } from '../url/paths.ts'
import { isLost, sentenceOfAttempt } from './attempt-text.ts'
import styles from './attempts.module.css'
import { bandsOf, placeOf, type Span } from './steps/time-line.ts'

/** Waits shorter than this are not shown. Milliseconds. */
const LEAST_WAIT_MS = 1_000
const NARROWEST = 1

/** Shows where on the time line the build waited and where each attempt started and ran. Nothing for a build that ran at once in one attempt. */
export function AttemptBands({
  build,
  span,
  now,
}: {
  readonly build: Build
  readonly span: Span
  readonly now: number
}): ReactElement | null {
  const least = (NARROWEST / 100) * (span.to - span.from)
  const bands = bandsOf(build, now).filter(({ kind, from, to }) => kind === 'run' || to - from >= least)
  const isLong = bands.some(({ kind, from, to }) => kind !== 'run' && to - from >= LEAST_WAIT_MS)
  const { length } = build.attempts ?? []
  // Before the first attempt the whole line would be one wait, which the sentence tells.
  if (length === 0 || (length < 2 && !isLong)) return null
  return (
    <div className={styles['bands']} aria-hidden>
      <span>Attempts</span>
      <div className={styles['track']}>
        {bands.map(({ kind, attempt, from, to }) => {
          const { left, width } = placeOf({ from, to }, span, NARROWEST)
          return (
            <div
              key={`${kind} ${from}`}
              className={styles['band']}
              data-kind={kind}
              data-lost={attempt !== undefined && isLost(attempt)}
              style={{ left: `${left}%`, width: `${width}%` }}
            >
              {kind === 'run' && attempt?.number}
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
          {since === undefined ? 'Waited' : 'Waits'} <time dateTime={`PT${ms / 1_000}S`}>{formatClock(ms)}</time>:{' '}
          <bdi>{textOfReason(reason)}</bdi>
        </li>
      ))}
    </ul>
  )
}

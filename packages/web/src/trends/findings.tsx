/** What got slower, what is flaky and what asks for too much, each with the builds that show it. */
import { textOfReason } from '@windlass/plan'
import type { PipelineStats } from '@windlass/protocol'
import type { ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import { formatClock, formatSpan } from '../looks/time.ts'
import { When } from '../parts/when.tsx'
import { paths } from '../url/paths.ts'
import { formatShare } from './sentence.ts'
import styles from './trends.module.css'

const MIB = 1_048_576

/** Formats bytes as `640 MiB` or `1.5 GiB`. */
export function formatMemory(bytes: number): string {
  return bytes < 1024 * MIB ? `${Math.round(bytes / MIB)} MiB` : `${(bytes / 1024 / MIB).toFixed(1)} GiB`
}

function BuildLink({ id, number }: { readonly id: string; readonly number: number }): ReactElement {
  return <Link href={paths.build(id)}>#{number}</Link>
}

export function Findings({ stats }: { readonly stats: PipelineStats }): ReactElement {
  const { slower, flaky, oversized, waits, wait } = stats
  const total = waits.reduce((sum, { totalMs }) => sum + totalMs, 0)
  const first = waits[0]
  return (
    <dl className={styles['findings']}>
      <Finding name="Slower" none="Nothing became lastingly slower.">
        {slower.map(({ step, beforeMs, afterMs, first: { id, number, startedAt } }) => (
          <li key={step ?? ''} data-step={step ?? ''}>
            <bdi className="mono">{step ?? 'the whole build'}</bdi> median {formatClock(beforeMs)} → {formatClock(afterMs)} since{' '}
            <When at={startedAt} /> (<BuildLink id={id} number={number} />)
          </li>
        ))}
      </Finding>
      <Finding name="Flaky" none="No step failed and succeeded without a change.">
        {flaky.map(({ step, builds, of, evidence }) => (
          <li key={step} data-step={step}>
            <bdi className="mono">{step}</bdi> {builds} of {of} builds:{' '}
            {evidence.map(({ id, number, kind }, index) => (
              <span key={id}>
                {index > 0 && ', '}
                <BuildLink id={id} number={number} />
                <span className="quiet"> {kind === 'later-try' ? 'on a later try' : 'same commit'}</span>
              </span>
            ))}
          </li>
        ))}
      </Finding>
      <Finding name="Oversized" none="Builds use the memory that they ask for, or too few of them tell.">
        {oversized !== undefined && (
          <li>
            Builds ask for {formatMemory(oversized.asked)}, and 95 % of {oversized.builds} use at most{' '}
            {formatMemory(oversized.p95)}
          </li>
        )}
      </Finding>
      <Finding name="Waiting" none="No build waited.">
        {first !== undefined && total > 0 && (
          <li>
            {formatSpan(total)} in {wait.count} builds, {formatShare(first.totalMs / total)} of it: {causeText(first.cause)}
          </li>
        )}
      </Finding>
    </dl>
  )
}

/** Returns the words for a cause of waiting. The start of pods is not a reason. */
export function causeText(cause: string): string {
  return cause === 'start' ? 'The pods start' : (textOfReason(cause) ?? cause).replace(/\.$/, '')
}

function Finding({
  name,
  none,
  children,
}: {
  readonly name: string
  readonly none: string
  readonly children: ReactNode
}): ReactElement {
  const items = Array.isArray(children) ? children.length > 0 : children !== false && children !== undefined
  return (
    <div data-finding={name.toLowerCase()}>
      <dt>{name}</dt>
      <dd>{items ? <ul>{children}</ul> : <span className="quiet">{none}</span>}</dd>
    </div>
  )
}

/** One step in the tree, with its bars on the time line. */
import type { Branch } from '@windlass/plan'
import type { BuildStep } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { lookOfStep } from '../../looks/states.ts'
import { StatusMark } from '../../looks/status.tsx'
import { formatClock } from '../../looks/time.ts'
import { paths } from '../../url/paths.ts'
import styles from './steps.module.css'
import { barsOf, type Facts, type Span } from './time-line.ts'

export interface StepRowProps {
  readonly buildId: string
  readonly row: Branch<BuildStep>
  readonly facts: Facts
  readonly span: Span
  readonly now: number
  readonly isChosen: boolean
  /** True if the build would have ended earlier without this step. */
  readonly isCritical: boolean
  /** What became of the steps inside a folded group. */
  readonly counts: string | undefined
  /** Undefined for a step without children. */
  readonly isFolded: boolean | undefined
  readonly onFold: () => void
}

export function StepRow(props: StepRowProps): ReactElement {
  const { buildId, row, facts, span, now, isChosen, isCritical, counts, isFolded, onFold } = props
  const { step, depth, label } = row
  const look = lookOfStep(step)
  return (
    <div className={styles['step']} data-chosen={isChosen} data-carried={step.carried === true} data-critical={isCritical}>
      <div className={styles['name']} style={{ paddingLeft: depth * 16 }}>
        {isFolded === undefined ? (
          <span className={styles['fold']} />
        ) : (
          <button
            type="button"
            className={styles['fold']}
            aria-expanded={!isFolded}
            aria-label={`Steps of ${step.name}`}
            onClick={onFold}
          >
            {isFolded ? '›' : '⌄'}
          </button>
        )}
        <StatusMark look={look} />
        <Link href={paths.step(buildId, step.name)} aria-current={isChosen ? 'true' : undefined} title={step.title}>
          <bdi>{label}</bdi>
        </Link>
        {counts !== undefined && <small className={styles['counts']}>{counts}</small>}
        {step.title !== step.name && (
          <small className={styles['title']}>
            <bdi>{step.title}</bdi>
          </small>
        )}
        {step.stage !== undefined && (
          <small className={styles['stage']}>
            <bdi>{step.stage}</bdi>
          </small>
        )}
        {step.try > 1 && <small>try {step.try}</small>}
        {step.carried === true && <small>kept</small>}
        {isCritical && <span className="unseen">on the critical path</span>}
      </div>
      <div className={styles['track']} aria-hidden>
        {barsOf(step, facts, span, now).map(({ kind, left, width }) => (
          <div
            key={`${kind} ${left}`}
            className={styles['bar']}
            data-kind={step.type === 'pending-approval' ? 'wait' : kind}
            data-tone={look.tone}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
        ))}
      </div>
      <span className={styles['took']}>
        {step.startedAt === undefined ? '' : formatClock((step.finishedAt ?? now) - step.startedAt)}
      </span>
    </div>
  )
}

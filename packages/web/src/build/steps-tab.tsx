/** The steps of a build as a tree, each with its bar on the time line, and the step that is chosen. */
import { toTree, type Branch } from '@windlass/plan'
import type { Build, BuildStep } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { useNow } from '../looks/clock.ts'
import { lookOfStep } from '../looks/states.ts'
import { StatusMark } from '../looks/status.tsx'
import { formatClock } from '../looks/time.ts'
import { Empty } from '../parts/empty.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { useShortcuts } from '../shell/shortcuts.ts'
import { paths } from '../url/paths.ts'
import styles from './build.module.css'
import { StepPanel } from './step-panel.tsx'
import { barOf, type Span } from './time-line.ts'

interface StepsTabProps {
  readonly build: Build
  /** Name of the step that is shown. */
  readonly chosen: string | undefined
}

const ROW_PX = 34

export function StepsTab({ build, chosen }: StepsTabProps): ReactElement {
  const [, go] = useLocation()
  const now = useNow()
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const steps = build.steps ?? []
  const rows = withoutFolded(toTree(steps), folded)
  const index = rows.findIndex(({ step }) => step.name === chosen)
  const step = steps.find(({ name }) => name === chosen)
  const parents = new Set(steps.map(({ parent }) => parent))
  const move = (by: number): void => {
    const next = rows[Math.min(Math.max(index + by, 0), rows.length - 1)]
    if (next !== undefined) go(paths.step(build.id, next.step.name))
  }
  useShortcuts('Steps', [
    { keys: 'j', does: 'Next step', run: () => move(1) },
    { keys: 'k', does: 'Previous step', run: () => move(-1) },
  ])
  if (steps.length === 0) return <Empty>The build has no steps{build.problems === undefined ? ' yet' : ''}.</Empty>
  const span: Span = {
    from: build.startedAt ?? build.createdAt,
    to: Math.max(build.finishedAt ?? now, (build.startedAt ?? build.createdAt) + 1_000),
  }
  return (
    <div className={styles['split']} data-open={step !== undefined}>
      <div className={styles['steps']}>
        <WindowedList
          label="Steps"
          rows={rows}
          rowHeight={ROW_PX}
          keyOf={(row) => row.step.name}
          reveal={index < 0 ? undefined : index}
          render={(row) => (
            <StepRow
              build={build}
              row={row}
              span={span}
              now={now}
              isChosen={row.step.name === chosen}
              isFolded={parents.has(row.step.name) ? folded.has(row.step.name) : undefined}
              onFold={() => setFolded(folded.symmetricDifference(new Set([row.step.name])))}
            />
          )}
        />
      </div>
      {step !== undefined && <StepPanel key={step.name} build={build} step={step} />}
    </div>
  )
}

/** Returns the rows that no folded group hides. */
function withoutFolded<T extends { readonly name: string }>(
  rows: readonly Branch<T>[],
  folded: ReadonlySet<string>,
): Branch<T>[] {
  const shown: Branch<T>[] = []
  let hiddenBelow = Infinity
  for (const row of rows) {
    if (row.depth > hiddenBelow) continue
    hiddenBelow = folded.has(row.step.name) ? row.depth : Infinity
    shown.push(row)
  }
  return shown
}

interface StepRowProps {
  readonly build: Build
  readonly row: Branch<BuildStep>
  readonly span: Span
  readonly now: number
  readonly isChosen: boolean
  /** Undefined for a step without children. */
  readonly isFolded: boolean | undefined
  readonly onFold: () => void
}

function StepRow({ build, row, span, now, isChosen, isFolded, onFold }: StepRowProps): ReactElement {
  const { step, depth, label } = row
  const look = lookOfStep(step)
  const bar = barOf(step, span, now)
  return (
    <div className={styles['step']} data-chosen={isChosen} data-carried={step.carried === true}>
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
        <Link href={paths.step(build.id, step.name)} aria-current={isChosen ? 'true' : undefined} title={step.title}>
          <bdi>{label}</bdi>
        </Link>
        {step.try > 1 && <small>try {step.try}</small>}
        {step.carried === true && <small>kept</small>}
      </div>
      <div className={styles['track']} aria-hidden>
        {bar !== undefined && (
          <div className={styles['bar']} data-tone={look.tone} style={{ left: `${bar.left}%`, width: `${bar.width}%` }} />
        )}
      </div>
      <span className={styles['took']}>
        {step.startedAt === undefined ? '' : formatClock((step.finishedAt ?? now) - step.startedAt)}
      </span>
    </div>
  )
}

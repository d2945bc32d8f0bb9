/** What a build of a document would do: which steps run, which do not and why, what it needs, and whether it would wait. */
import { describeForecasts, describeStart } from '@windlass/plan'
import type { PlanAnswer, PlanPreview } from '@windlass/protocol'
import { Check, CircleHelp, Minus, X } from 'lucide-react'
import type { ReactElement } from 'react'
import { Table } from '../parts/table.tsx'
import { keyOfVariable, VARIABLE_COLUMNS } from '../parts/forms/variable-columns.tsx'
import styles from './editor.module.css'
import type { PlacedPlan } from './checks/language.ts'

export type ShownPlan = PlacedPlan | PlanPreview
type Step = ShownPlan['steps'][number]

/** Steps that are shown of a large plan. */
const MAX_STEPS = 500

const MARKS = {
  runs: { icon: Check, word: 'runs' },
  skipped: { icon: Minus, word: 'is skipped' },
  depends: { icon: CircleHelp, word: 'depends' },
  fails: { icon: X, word: 'has an invalid condition' },
} as const

export function PlanView({
  plan,
  answer,
  onGoTo,
}: {
  readonly plan: ShownPlan
  /** What the server says, if it has answered for the same document. */
  readonly answer: PlanAnswer | undefined
  readonly onGoTo?: ((line: number, column: number) => void) | undefined
}): ReactElement {
  const parents = new Map(plan.steps.map(({ name, parent, hook }) => [name, parent ?? hook?.of]))
  const overridden = plan.variables.filter(({ overriddenBy }) => overriddenBy !== undefined).length
  return (
    <div className={styles['plan']}>
      <p className={styles['forecast']}>{describeForecasts(plan.steps)}.</p>
      {answer !== undefined && (
        <p className={styles['start']} role="status">
          <bdi>{describeStart(answer)}</bdi>
          {answer.runtime !== undefined && (
            <span className="quiet">
              {' '}
              Runtime <bdi>{answer.runtime}</bdi>.
            </span>
          )}
        </p>
      )}
      <ol className={styles['steps']} aria-label="Steps of the plan">
        {plan.steps.slice(0, MAX_STEPS).map((step) => (
          <StepLine key={step.name} step={step} depth={depthOf(step.name, parents)} onGoTo={onGoTo} />
        ))}
      </ol>
      {plan.steps.length > MAX_STEPS && <p className="quiet">{plan.steps.length - MAX_STEPS} further steps are not shown.</p>}
      {plan.images.length > 0 && (
        <details>
          <summary>Images {plan.images.length}</summary>
          <ul className={styles['names']}>
            {plan.images.map(({ image, madeBy }) => (
              <li key={image}>
                <bdi className="mono">{image}</bdi>
                {madeBy !== undefined && <span className="quiet"> made by {madeBy}</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
      {plan.variables.length > 0 && (
        <details>
          <summary>
            Variables {plan.variables.length}
            {overridden > 0 && ` (${overridden} overridden)`}
          </summary>
          <Table caption="Variables of the plan" rows={plan.variables} keyOf={keyOfVariable} columns={VARIABLE_COLUMNS} />
        </details>
      )}
    </div>
  )
}

const MAX_DEPTH = 8

function depthOf(name: string, parents: ReadonlyMap<string, string | undefined>): number {
  let depth = 0
  for (let at = parents.get(name); at !== undefined && depth < MAX_DEPTH; at = parents.get(at)) depth += 1
  return depth
}

function StepLine({
  step,
  depth,
  onGoTo,
}: {
  readonly step: Step
  readonly depth: number
  readonly onGoTo: ((line: number, column: number) => void) | undefined
}): ReactElement {
  const { name, title, forecast, because, subject, notes, services, kind, type, hook, position } = step
  const { icon: Icon, word } = MARKS[forecast]
  const what = subject === '' ? (type ?? (kind === 'group' ? `${step.mode ?? 'serial'} group` : kind)) : subject
  const facts = [...notes, ...(services.length > 0 ? [`with ${services.join(', ')}`] : [])]
  const text = (
    <>
      <bdi>{title}</bdi>
      {hook !== undefined && <span className="quiet"> {hook.moment}</span>}
    </>
  )
  return (
    <li data-step={name} data-forecast={forecast} data-depth={depth}>
      <Icon size={14} role="img" aria-label={word} />
      <div>
        <p>
          {position === undefined || onGoTo === undefined ? (
            <span className={styles['name']}>{text}</span>
          ) : (
            <button type="button" className={styles['name']} onClick={() => onGoTo(position.line, position.column)}>
              {text}
            </button>
          )}
          <bdi className={styles['subject']}>{what}</bdi>
        </p>
        {because !== undefined && (
          <p className="quiet">
            <bdi>{because}</bdi>
          </p>
        )}
        {facts.length > 0 && <p className="quiet">{facts.join(', ')}</p>}
      </div>
    </li>
  )
}

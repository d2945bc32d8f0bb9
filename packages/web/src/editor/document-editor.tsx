/** A document with its problems, and beside it what a build of it would do. */
import type { Fix } from '@windlass/pipeline'
import type { PlanAnswer } from '@windlass/protocol'
import { useEffect, useEffectEvent, useRef, type ReactElement, type ReactNode } from 'react'
import { toProblem } from '../parts/problem.tsx'
import { useOff } from '../shell/use-off.ts'
import styles from './editor.module.css'
import { PlanView } from './plan-view.tsx'
import { ProblemList, type ListedProblem } from './problem-list.tsx'
import { openTextField, type TextField } from './text-field.ts'
import { useCheck, useKnownNames, useLanguage, type Checked } from './checks/use-check.ts'
import { useServerPlan } from './checks/use-server-plan.ts'
import { useStepTypes } from './checks/use-step-types.ts'

/** With what the plan beside the document is made. */
export interface PlanWith {
  readonly branch: string
  readonly trigger: string
}

interface DocumentEditorProps {
  /** Name of the stored pipeline, whose variables the server adds. */
  readonly pipeline: string | undefined
  readonly text: string
  /** Changes when `text` is replaced by something else than typing. */
  readonly version: number
  readonly isReadOnly?: boolean
  readonly planWith: PlanWith
  readonly onChange: (text: string) => void
  readonly onSave: () => void
  readonly onRun: () => void
  /** Called with each check. */
  readonly onChecked?: (checked: Checked) => void
  /** Fields above the plan. */
  readonly planFields?: ReactNode
}

export function DocumentEditor(props: DocumentEditorProps): ReactElement {
  const { pipeline, text, planWith, isReadOnly = false } = props
  const language = useLanguage()
  const stepTypes = useStepTypes(text)
  const checked = useCheck(language, text, { pipeline, branch: planWith.branch === '' ? undefined : planWith.branch }, stepTypes)
  const hasErrors = checked?.problems.some(({ severity }) => severity === 'error') ?? true
  const whyNoPlan = useOff('start-builds')
  const server = useServerPlan(
    {
      document: text,
      ...(pipeline !== undefined && { pipeline }),
      ...(planWith.branch !== '' && { branch: planWith.branch }),
      ...(planWith.trigger !== '' && { trigger: planWith.trigger }),
    },
    whyNoPlan === undefined && checked?.text === text && !hasErrors,
  )
  const answer = server.isCurrent && !hasErrors ? server.answer : undefined
  const names = useKnownNames(server.answer)
  const report = useEffectEvent((found: Checked) => props.onChecked?.(found))
  useEffect(() => {
    if (checked !== undefined) report(checked)
  }, [checked])
  const field = useRef<TextField>(undefined)
  const onChange = useEffectEvent(props.onChange)
  const onSave = useEffectEvent(props.onSave)
  const onRun = useEffectEvent(props.onRun)
  const complete = useEffectEvent((whole: string, offset: number) => language.ask('complete', { text: whole, offset, names }))
  const explain = useEffectEvent((whole: string, offset: number) => language.ask('explain', { text: whole, offset, names }))
  const open = useEffectEvent((parent: HTMLElement) =>
    openTextField({
      parent,
      text,
      label: isReadOnly ? 'Document of the pipeline, read-only' : 'Document of the pipeline',
      isReadOnly,
      onChange: (next) => onChange(next),
      complete: (whole, offset) => complete(whole, offset),
      explain: (whole, offset) => explain(whole, offset),
      onSave: () => onSave(),
      onRun: () => onRun(),
    }),
  )
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (place.current === null) return undefined
    const opened = open(place.current)
    field.current = opened
    return () => opened.close()
  }, [])
  const setText = useEffectEvent(() => field.current?.setText(text))
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else setText()
  }, [props.version])
  useEffect(() => field.current?.setReadOnly(isReadOnly), [isReadOnly])
  useEffect(() => {
    if (checked !== undefined && checked.text === text) field.current?.showProblems(checked.problems)
  }, [checked, text])
  const goTo = (line: number, column: number): void => field.current?.goTo(line, column)
  const problems = listProblems(checked, answer)
  return (
    <div className={styles['columns']}>
      <div className={styles['written']}>
        <div ref={place} className={styles['field']} />
        {checked !== undefined && (
          <ProblemList
            problems={problems}
            count={checked.count}
            onGoTo={goTo}
            onFix={({ from, to, insert }: Fix) => field.current?.replace(from, to, insert)}
            onNext={() => field.current?.goToNextProblem()}
          />
        )}
      </div>
      <section className={styles['beside']} aria-label="Plan" data-current={checked?.text === text}>
        {props.planFields}
        <Beside checked={checked} answer={answer} error={server.error} whyNoPlan={whyNoPlan} onGoTo={goTo} />
      </section>
    </div>
  )
}

function Beside({
  checked,
  answer,
  error,
  whyNoPlan,
  onGoTo,
}: {
  readonly checked: Checked | undefined
  readonly answer: PlanAnswer | undefined
  readonly error: unknown
  readonly whyNoPlan: string | undefined
  readonly onGoTo: (line: number, column: number) => void
}): ReactElement | null {
  if (checked === undefined) return null
  const plan = answer?.plan ?? checked.plan
  return (
    <>
      {checked.problems.some(({ severity }) => severity === 'error') && (
        <p className="quiet">The plan is shown once the document has no errors.</p>
      )}
      {checked.source !== undefined && plan === undefined && (
        <p className="quiet">
          The steps are in <bdi>{checked.source.where}</bdi>. A build reads them when it starts.
        </p>
      )}
      {plan !== undefined && <PlanView plan={plan} answer={answer} onGoTo={onGoTo} />}
      {whyNoPlan !== undefined && plan !== undefined && (
        <p className="quiet">Variables of the server and the forecast of the wait are missing. {whyNoPlan}</p>
      )}
      {error !== null && error !== undefined && <p role="alert">The server cannot plan it: {toProblem(error).message}</p>}
    </>
  )
}

/** Returns the problems of the worker, then those that only the server finds. */
function listProblems(checked: Checked | undefined, answer: PlanAnswer | undefined): readonly ListedProblem[] {
  const own = checked?.problems ?? []
  const known = new Set(own.map(({ line, column, message }) => `${line} ${column} ${message}`))
  const further = (answer?.problems ?? []).filter(({ line, column, message }) => !known.has(`${line} ${column} ${message}`))
  return [
    ...own,
    ...further.map(({ severity, line, column, code, message, hint }) => ({
      severity,
      line,
      column,
      code,
      message,
      hint,
    })),
  ]
}

/** Runs a pipeline. Says before the start what would run and whether it would wait. The command line below starts the same build. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { Pipeline } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { useLocation, useSearch } from 'wouter'
import { PlanView } from '../editor/plan-view.tsx'
import { TriggerSelect } from '../editor/trigger-select.tsx'
import { useServerPlan } from '../editor/checks/use-server-plan.ts'
import { Button } from '../parts/button.tsx'
import { Command, CopyButton } from '../parts/copy.tsx'
import { Field } from '../parts/forms/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { triggerQueries } from '../triggers/queries.ts'
import { paths } from '../url/paths.ts'
import { RunSettings } from './run-settings.tsx'
import { RunVariables, type KnownVariable } from './run-variables.tsx'
import {
  findWrong,
  NO_VALUES,
  readRunValues,
  toBuildInput,
  toPlanInput,
  toRunCommand,
  writeRunValues,
  type RunValues,
} from './run-values.ts'
import styles from './run.module.css'

/** The tab that runs a pipeline. Its address has all values but secrets. */
export function RunTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const search = useSearch()
  const [path, go] = useLocation()
  const [first] = useState(() => readRunValues(search))
  return <RunForm pipeline={pipeline} first={first} onChange={(values) => go(path + writeRunValues(values), { replace: true })} />
}

interface RunFormProps {
  readonly pipeline: Pipeline
  /** A document that is not stored. */
  readonly draft?: string
  readonly first?: Partial<RunValues>
  readonly onChange?: (values: RunValues) => void
}

export function RunForm({ pipeline, draft, first, onChange }: RunFormProps): ReactElement {
  const [, go] = useLocation()
  const state = useSession()
  const away = useAway()
  const [values, setValues] = useState<RunValues>({ ...NO_VALUES, ...first })
  const { data: triggers } = useQuery(triggerQueries.git(pipeline.name))
  // Most pipelines build a branch. The address can name none.
  const { data: branches } = useQuery({ ...queries.branches(pipeline.name), enabled: first?.branch === undefined })
  const [isTouched, setIsTouched] = useState(false)
  const latest = branches?.items[0]?.branch
  if (!isTouched && latest !== undefined && values.branch === '') setValues({ ...values, branch: latest })
  const change = (changes: Partial<RunValues>): void => {
    setIsTouched(true)
    const next = { ...values, ...changes }
    setValues(next)
    onChange?.(next)
  }
  const start = useMutation({
    mutationFn: () => client.builds.create(toBuildInput(pipeline.name, values, draft)),
    onSuccess: (build) => {
      queryClient.setQueryData(queries.build(build.id).queryKey, build)
      void queryClient.invalidateQueries({ queryKey: ['builds'] })
      go(paths.build(build.id))
    },
  })
  const trigger = triggers?.items.find(({ name }) => name === values.trigger)
  const wrong = findWrong(values)
  const whyNoStart = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'start-builds')
  const off = whyNoStart ?? wrong
  const { answer, error, isCurrent } = useServerPlan(toPlanInput(pipeline.name, values, draft), off === undefined)
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault()
        if (off === undefined && !start.isPending) start.mutate()
      }}
    >
      <div className={styles['fields']}>
        <div className={styles['pair']}>
          <Field
            label="Branch"
            maxLength={500}
            value={values.branch}
            onChange={(event) => change({ branch: event.target.value })}
          />
          <Field
            label="Commit"
            maxLength={500}
            placeholder="Latest of the branch"
            value={values.commit}
            onChange={(event) => change({ commit: event.target.value })}
          />
        </div>
        <TriggerSelect
          names={triggers?.items.map(({ name }) => name) ?? []}
          value={values.trigger}
          onChange={(name) => change({ trigger: name })}
        />
        <RunVariables
          known={knownVariables(pipeline, trigger)}
          variables={values.variables}
          onChange={(variables) => change({ variables })}
        />
        <RunSettings values={values} steps={answer?.plan?.steps.map(({ name }) => name) ?? []} onChange={change} />
        {wrong !== undefined && <p role="alert">{wrong}</p>}
        {start.error !== null && <Problem error={start.error} />}
        <div className={styles['buttons']}>
          <Button type="submit" tone="primary" off={off} isBusy={start.isPending}>
            {draft === undefined ? 'Run the pipeline' : 'Run the draft'}
          </Button>
          {draft === undefined && (
            <CopyButton
              text={`${location.origin}${paths.pipeline(pipeline.name, 'run')}${writeRunValues(values)}`}
              label="Copy the address of this form, without secrets"
            />
          )}
        </div>
        <Command text={toRunCommand(pipeline.name, values, draft !== undefined)} />
      </div>
      <section
        className={styles['forecast']}
        aria-label="What would run"
        aria-busy={!isCurrent && off === undefined && error === null}
      >
        <h2>What would run</h2>
        {answer?.problems.some(({ severity }) => severity === 'error') === true && (
          <p role="alert">The document has errors: {answer.problems.find(({ severity }) => severity === 'error')?.message}</p>
        )}
        {answer?.plan !== undefined && <PlanView plan={answer.plan} answer={answer} />}
        {answer === undefined && error !== null && <Problem error={error} />}
        {whyNoStart !== undefined && <p className="quiet">{whyNoStart}</p>}
      </section>
    </form>
  )
}

/** Returns the variables that a build has anyway. Those of the trigger override those of the pipeline. */
function knownVariables(
  { variables }: Pipeline,
  trigger: { readonly variables: Pipeline['variables'] } | undefined,
): readonly KnownVariable[] {
  const byName = new Map<string, KnownVariable>()
  for (const one of variables) byName.set(one.key, { ...one, origin: 'pipeline' })
  for (const one of trigger?.variables ?? []) byName.set(one.key, { ...one, origin: 'trigger' })
  return [...byName.values()]
}

/** Results that a restart from a failed step takes over from the previous build: status, members and exports of the steps that do not run again. */
import { defined, fault } from '@windlass/kit'
import { buildOutcome, isFinalBuild, isFinalStep, resume, type Plan, type Snapshot, type StepState } from '@windlass/plan'
import type { App } from '../../app.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { CarriedFact } from './prepare.ts'
import { readSnapshot } from './snapshot.ts'

interface From {
  readonly plan: Plan | undefined
  /** Name of a step, or `failed`. */
  readonly from: string
  readonly isPermitted: boolean
}

/** Returns the initial facts of the new build, in the order in which the steps ended. Throws `restart-forbidden`, `restart-impossible`. */
export async function carryOver(app: App, before: BuildRow, { plan, from, isPermitted }: From): Promise<CarriedFact[]> {
  if (!isPermitted) throw fault('restart-forbidden')
  if (!isFinalBuild(before.status))
    throw fault('restart-impossible', { message: 'The build has not ended.', hint: 'Wait until it ends, or terminate it.' })
  if (plan === undefined) throw fault('restart-impossible', { message: 'The document of the build has errors.' })
  const known = await readSnapshot(app, app.store.query, { build: before, plan, open: true })
  const starts = from === 'failed' ? failedSteps(plan, known) : [requireStep(plan, from)]
  if (starts.length === 0)
    throw fault('restart-impossible', { message: `No step of the build failed. Its status is ${before.status}.` })
  let kept = resetUnfinished(plan, known)
  for (const start of starts) kept = resume(plan, kept, { cause: 'restart', volumeKept: true, from: start })
  return plan.steps.flatMap(({ name }) => factsOf(name, kept)).toSorted((a, b) => a.at - b.at)
}

function requireStep(plan: Plan, name: string): string {
  if (plan.steps.some((step) => step.name === name)) return name
  throw fault('restart-impossible', { message: `The build has no step "${name}".` })
}

const INTERRUPTED: readonly StepState['status'][] = ['terminated', 'running', 'waiting']

/** Returns the step that failed the build (for a group, the failed steps inside it) and the interrupted steps. */
function failedSteps(plan: Plan, snapshot: Snapshot): string[] {
  const childrenOf = Map.groupBy(plan.steps, ({ parent }) => parent)
  const statusOf = (name: string): StepState['status'] | undefined => snapshot.steps[name]?.status
  const failedStep = buildOutcome(plan, snapshot).step
  const inside = (name: string): string[] => {
    const failed = (childrenOf.get(name) ?? []).filter((child) => child.hook === undefined && statusOf(child.name) === 'error')
    return failed.length === 0 ? [name] : failed.flatMap((child) => inside(child.name))
  }
  const interrupted = plan.steps
    .filter(({ name, hook }) => hook === undefined && !childrenOf.has(name))
    .filter(({ name }) => INTERRUPTED.some((status) => status === statusOf(name)))
  return [...new Set([...(failedStep === undefined ? [] : inside(failedStep)), ...interrupted.map(({ name }) => name)])]
}

/** Resets steps without a final status to `pending`: nothing runs in a build that has ended. */
function resetUnfinished(plan: Plan, snapshot: Snapshot): Snapshot {
  const fresh: StepState = { status: 'pending', try: 0, members: {}, output: {} }
  const steps = plan.steps.map(({ name }): [string, StepState] => {
    const state = snapshot.steps[name] ?? fresh
    return [name, isFinalStep(state.status) ? state : fresh]
  })
  return { ...snapshot, steps: Object.fromEntries(steps) }
}

function factsOf(step: string, { steps, exports }: Snapshot): CarriedFact[] {
  const state = steps[step]
  if (state === undefined || !isFinalStep(state.status)) return []
  const own = exports.filter((variable) => variable.step === step)
  const outputs = Object.fromEntries(Object.entries(state.output).filter(([name]) => !own.some((given) => given.name === name)))
  const finishedAt = state.finishedAt ?? 0
  const startedAt = state.startedAt
  return [
    ...(startedAt === undefined
      ? []
      : [{ type: 'step.started' as const, at: startedAt, data: { step, try: Math.max(1, state.try) } }]),
    {
      type: 'step.finished',
      at: finishedAt,
      data: {
        step,
        try: state.try,
        status: state.status,
        ...defined({ reason: state.reason, message: state.message, hint: state.hint, exitCode: state.exitCode }),
        members: state.members,
        exports: own.map(({ name, value, secret }) => ({ name, value, secret })),
        ...(Object.keys(outputs).length > 0 && { outputs }),
        ...defined({ sealed: state.sealed }),
        carried: true,
      },
    },
  ]
}

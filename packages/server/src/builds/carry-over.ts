/** What a restart from a failed step takes over from the build before: results, members and exports of the steps that do not run again. */
import { fault } from '@windlass/kit'
import { buildOutcome, isFinalBuild, isFinalStep, resume, type Plan, type Snapshot, type StepState } from '@windlass/plan'
import type { App } from '../app.ts'
import type { BuildRow } from '../store/schema.ts'
import type { CarriedFact } from './prepare.ts'
import { readSnapshot } from './snapshot.ts'

interface From {
  readonly plan: Plan | undefined
  /** A step, or `failed`. */
  readonly from: string
  readonly isPermitted: boolean
}

/** The facts that the new build begins with, in the order in which the steps ended. Throws `restart-forbidden`, `restart-impossible`. */
export async function carryOver(app: App, before: BuildRow, { plan, from, isPermitted }: From): Promise<CarriedFact[]> {
  if (!isPermitted) throw fault('restart-forbidden')
  if (!isFinalBuild(before.status))
    throw fault('restart-impossible', { message: 'The build has not ended.', hint: 'Wait for its end, or terminate it.' })
  if (plan === undefined) throw fault('restart-impossible', { message: 'The document of the build has errors.' })
  const known = await readSnapshot(app, app.store.query, { build: before, plan, open: true })
  const starts = from === 'failed' ? failedSteps(plan, known) : [requireStep(plan, from)]
  if (starts.length === 0)
    throw fault('restart-impossible', { message: `No step of the build failed; it ended as ${before.status}.` })
  let kept = settle(plan, known)
  for (const start of starts) kept = resume(plan, kept, { cause: 'restart', volumeKept: true, from: start })
  return plan.steps.flatMap(({ name }) => factsOf(name, kept)).toSorted((a, b) => a.at - b.at)
}

function requireStep(plan: Plan, name: string): string {
  if (plan.steps.some((step) => step.name === name)) return name
  throw fault('restart-impossible', { message: `The build has no step "${name}".` })
}

const CUT_SHORT: readonly StepState['status'][] = ['terminated', 'running', 'waiting']

/** The step that the build failed by (inside a group, those that failed in it), and those that were cut short. */
function failedSteps(plan: Plan, snapshot: Snapshot): string[] {
  const childrenOf = Map.groupBy(plan.steps, ({ parent }) => parent)
  const statusOf = (name: string): StepState['status'] | undefined => snapshot.steps[name]?.status
  const blamed = buildOutcome(plan, snapshot).step
  const inside = (name: string): string[] => {
    const failed = (childrenOf.get(name) ?? []).filter((child) => child.hook === undefined && statusOf(child.name) === 'error')
    return failed.length === 0 ? [name] : failed.flatMap((child) => inside(child.name))
  }
  const cut = plan.steps
    .filter(({ name, hook }) => hook === undefined && !childrenOf.has(name))
    .filter(({ name }) => CUT_SHORT.some((status) => status === statusOf(name)))
  return [...new Set([...(blamed === undefined ? [] : inside(blamed)), ...cut.map(({ name }) => name)])]
}

/** In a build that has ended nothing runs: what the engine had no last word about is as if it had not begun. */
function settle(plan: Plan, snapshot: Snapshot): Snapshot {
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
        ...(state.reason !== undefined && { reason: state.reason }),
        ...(state.message !== undefined && { message: state.message }),
        ...(state.exitCode !== undefined && { exitCode: state.exitCode }),
        members: state.members,
        exports: own.map(({ name, value, secret }) => ({ name, value, secret })),
        ...(Object.keys(outputs).length > 0 && { outputs }),
        carried: true,
      },
    },
  ]
}

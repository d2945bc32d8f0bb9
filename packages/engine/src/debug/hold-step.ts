/** One try of a step with its breakpoints around it. */
import { VOLUME_PATH, type ExportedVariable, type PlanStep, type ResolvedStep } from '@windlass/plan'
import type { DebugPhase } from '@windlass/protocol'
import type { Reach, StepOutcome, StepRun } from '../attempt/context.ts'
import { freestyleBox, toEnvironment } from '../steps/freestyle.ts'
import type { BoxSpec } from './box.ts'
import type { Debugger, HoldEnd } from './debugger.ts'

export interface DebuggedTry {
  readonly debugger: Debugger
  readonly plan: PlanStep
  /** With the signal of the step: holding it does not count as its time. */
  readonly run: StepRun
  /** Starts the services of the step, unless they run, and says how they are reached. Throws `StepFailure`. */
  readonly reach: (step: ResolvedStep) => Promise<Reach | undefined>
  /** The step itself. Never rejects for what the step does. */
  readonly act: (step: ResolvedStep) => Promise<StepOutcome>
  /** Called with the place where the step is held from now on, and with undefined when it goes on. */
  readonly onHold: (phase: DebugPhase | undefined) => void
}

export interface TryEnd extends StepOutcome {
  /** Somebody asked for the step to be run once more. */
  readonly isAgain?: boolean
}

/** Runs the try, stopping where the debugger wants it. Rejects with the reason of the step's signal while it is held. */
export async function runDebugged(debugged: DebuggedTry): Promise<TryEnd> {
  const { debugger: breakpoints, plan, run, act } = debugged
  const stopsAt = (phase: DebugPhase): boolean => breakpoints.stopsAt(plan, phase)
  let exported: readonly ExportedVariable[] = []
  let { step } = run
  if (stopsAt('before')) {
    const end = await hold(debugged, 'before')
    exported = end.exports
    if (end.action === 'fail') return { ...FAILED, exports: exported }
    step = { ...step, environment: { ...step.environment, ...toValues(exported) } }
  }
  const outcome: TryEnd =
    run.step.action.kind === 'freestyle' && stopsAt('override') ? await override(debugged, step) : await act(step)
  const all = { ...outcome, exports: [...exported, ...outcome.exports] }
  const phase = outcome.status === 'error' && stopsAt('failure') ? 'failure' : 'after'
  if (outcome.status === 'terminated' || run.signal.aborted || outcome.isAgain === true || !stopsAt(phase)) return all
  const end = await hold({ ...debugged, run: { ...run, step } }, phase)
  return { ...judge(all, end.action), exports: [...all.exports, ...end.exports] }
}

const FAILED: StepOutcome = {
  status: 'error',
  reason: 'debug-failed',
  message: 'The person at the debugger ended the step as failed.',
  members: {},
  exports: [],
}

function judge(outcome: StepOutcome, action: HoldEnd['action']): TryEnd {
  if (action === 'retry') return { ...outcome, isAgain: true }
  return action === 'fail' && outcome.status !== 'error' ? { ...outcome, ...FAILED, members: outcome.members } : outcome
}

function toValues(exports: readonly ExportedVariable[]): Record<string, string> {
  return Object.fromEntries(exports.map(({ name, value }) => [name, value]))
}

/** The container of the step, in which people do what they want in the place of its commands. */
async function override(debugged: DebuggedTry, step: ResolvedStep): Promise<TryEnd> {
  const end = await hold({ ...debugged, run: { ...debugged.run, step } }, 'override')
  const outcome: StepOutcome = { status: 'success', exitCode: 0, members: {}, exports: end.exports }
  if (end.action === 'retry') return { ...outcome, isAgain: true }
  return end.action === 'fail' ? { ...FAILED, exports: end.exports } : outcome
}

async function hold(debugged: DebuggedTry, phase: DebugPhase): Promise<HoldEnd> {
  const { debugger: breakpoints, run, onHold } = debugged
  const { context, step, output, signal } = run
  const reach = await reachOf(debugged, phase)
  const isOwn = phase === 'override' || phase === 'failure'
  const box = (isOwn ? await ownBox(run, phase) : undefined) ?? toolsBox(run)
  return context.namespaces.lend(async (network) => {
    onHold(phase)
    const end = await breakpoints.hold({
      context,
      step: step.name,
      phase,
      output,
      signal,
      spec: { ...box.spec, network },
      shell: box.shell,
      isStep: phase === 'override',
    })
    if (phase !== 'failure' && phase !== 'after') onHold(undefined)
    return end
  }, reach)
}

/** Before a step its services do not run yet; after it they may be what failed. */
async function reachOf({ reach, run }: DebuggedTry, phase: DebugPhase): Promise<Reach | undefined> {
  if (phase === 'before') return undefined
  return phase === 'override' ? reach(run.step) : reach(run.step).catch(() => undefined)
}

interface StepBox {
  readonly spec: Omit<BoxSpec, 'network'>
  readonly shell: 'sh' | 'bash'
}

/** A container like that of the step; undefined for steps that have none of the user's own, or whose image cannot be had. */
async function ownBox(run: StepRun, phase: DebugPhase): Promise<StepBox | undefined> {
  const { action } = run.step
  if (action.kind !== 'freestyle') return undefined
  try {
    return { spec: await freestyleBox({ ...run, action }), shell: action.shell }
  } catch (error) {
    // The step failed for the same reason: the tools have to do.
    if (phase === 'failure' && !run.signal.aborted) return undefined
    throw error
  }
}

function toolsBox({ context, step }: StepRun): StepBox {
  const spec = {
    image: context.toolsImage,
    environment: toEnvironment(step.environment, []),
    workingDirectory: VOLUME_PATH,
    mounts: context.workspace.mounts,
  }
  return { spec, shell: 'bash' }
}

/** Runs one try of a step with its breakpoints. */
import {
  kindOf,
  VOLUME_PATH,
  type ExportedVariable,
  type PlanStep,
  type ResolvedAction,
  type ResolvedStep,
  type RunnableKind,
} from '@windlass/plan'
import type { DebugPhase } from '@windlass/protocol'
import type { StepRun } from '../attempt/context.ts'
import { toEnvironment } from '../steps/freestyle.ts'
import { runnerOf } from '../steps/index.ts'
import type { HeldContainer } from '../steps/step-runner.ts'
import type { Debugger, HoldEnd } from './debugger.ts'
import type { StepOutcome } from '../attempt/step-outcome.ts'
import type { ServiceNetwork } from '../attempt/service-network.ts'

type HoldableRun = StepRun<ResolvedAction<RunnableKind>>

export interface DebuggedTry {
  readonly debugger: Debugger
  readonly plan: PlanStep
  /** Has the signal of the step; the hold time does not count towards the step's timeout. */
  readonly run: HoldableRun
  /** Starts the services of the step unless they run, and returns how to reach them. Throws `StepFailure`. */
  readonly startServices: (step: ResolvedStep) => Promise<ServiceNetwork | undefined>
  /** Runs the step itself. Never rejects because of the step. */
  readonly act: (step: ResolvedStep) => Promise<StepOutcome>
  /** Called with the phase when the step is held, and with undefined when it continues. */
  readonly onHold: (phase: DebugPhase | undefined) => void
}

export interface TryEnd extends StepOutcome {
  /** True if the user asked to run the step again. */
  readonly isAgain?: boolean
}

/** Runs the try and stops at breakpoints. Rejects with the reason of the step's signal while it is held. */
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
    kindOf(plan.action).canOverride && stopsAt('override') ? await override(debugged, step) : await act(step)
  const all = { ...outcome, exports: [...exported, ...outcome.exports] }
  const phase = outcome.status === 'error' && stopsAt('failure') ? 'failure' : 'after'
  if (outcome.status === 'terminated' || run.signal.aborted || outcome.isAgain === true || !stopsAt(phase)) return all
  const end = await hold({ ...debugged, run: { ...run, step } }, phase)
  return { ...applyAction(all, end.action), exports: [...all.exports, ...end.exports] }
}

const FAILED: StepOutcome = {
  status: 'error',
  reason: 'debug-failed',
  message: 'The step was marked as failed in the debugger.',
  members: {},
  exports: [],
}

function applyAction(outcome: StepOutcome, action: HoldEnd['action']): TryEnd {
  if (action === 'retry') return { ...outcome, isAgain: true }
  return action === 'fail' && outcome.status !== 'error' ? { ...outcome, ...FAILED, members: outcome.members } : outcome
}

function toValues(exports: readonly ExportedVariable[]): Record<string, string> {
  return Object.fromEntries(exports.map(({ name, value }) => [name, value]))
}

/** Holds a container of the step in which the user works instead of its commands. */
async function override(debugged: DebuggedTry, step: ResolvedStep): Promise<TryEnd> {
  const end = await hold({ ...debugged, run: { ...debugged.run, step } }, 'override')
  const outcome: StepOutcome = { status: 'success', exitCode: 0, members: {}, exports: end.exports }
  if (end.action === 'retry') return { ...outcome, isAgain: true }
  return end.action === 'fail' ? { ...FAILED, exports: end.exports } : outcome
}

async function hold(debugged: DebuggedTry, phase: DebugPhase): Promise<HoldEnd> {
  const { debugger: breakpoints, run, onHold } = debugged
  const { context, step, output, signal } = run
  const serviceNetwork = await serviceNetworkOf(debugged, phase)
  const isOwn = phase === 'override' || phase === 'failure'
  const container = (isOwn ? await ownContainer(run, phase) : undefined) ?? toolsContainer(run)
  return context.namespaces.withNamespace(async (network) => {
    onHold(phase)
    const end = await breakpoints.hold({
      context,
      step: step.name,
      phase,
      output,
      signal,
      spec: { ...container.spec, network },
      shell: container.shell,
      isStep: phase === 'override',
    })
    if (phase !== 'failure' && phase !== 'after') onHold(undefined)
    return end
  }, serviceNetwork)
}

/** Before a step its services do not run yet. After it, the services may be what failed. */
async function serviceNetworkOf({ startServices, run }: DebuggedTry, phase: DebugPhase): Promise<ServiceNetwork | undefined> {
  if (phase === 'before') return undefined
  return phase === 'override' ? startServices(run.step) : startServices(run.step).catch(() => undefined)
}

/** Returns a container like that of the step. Undefined for kinds without one, or if the image is not available. */
async function ownContainer(run: HoldableRun, phase: DebugPhase): Promise<HeldContainer | undefined> {
  try {
    return await runnerOf(run.action).heldContainer?.(run)
  } catch (error) {
    // The step failed for the same reason, so the tools image is used.
    if (phase === 'failure' && !run.signal.aborted) return undefined
    throw error
  }
}

function toolsContainer({ context, step }: HoldableRun): HeldContainer {
  const spec = {
    image: context.toolsImage,
    environment: toEnvironment(step.environment, []),
    workingDirectory: VOLUME_PATH,
    mounts: context.workspace.mounts,
  }
  return { spec, shell: 'bash' }
}

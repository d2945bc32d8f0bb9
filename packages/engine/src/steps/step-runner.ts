/** The runner of a kind of action. */
import type { BuildScope, ResolvedAction } from '@windlass/plan'
import type { StepRun } from '../attempt/context.ts'
import type { StepOutcome } from '../attempt/step-outcome.ts'
import type { DebugContainerSpec } from '../debug/debug-container.ts'

/** One try of a step, with the values of names at its start. */
export interface RunnerInput<A extends ResolvedAction> extends StepRun<A> {
  readonly scope: BuildScope
}

/** A container like that of the step, in which a debug run opens terminals. */
export interface HeldContainer {
  readonly spec: Omit<DebugContainerSpec, 'network'>
  readonly shell: 'sh' | 'bash'
}

export interface StepRunner<A extends ResolvedAction> {
  /** Carries out the step. Throws `StepFailure`, or the reason of the signal. */
  readonly run: (run: RunnerInput<A>) => Promise<StepOutcome>
  /** Returns the container to hold for kinds that allow the breakpoint `override`. Throws the same errors as `run`. */
  readonly heldContainer?: (run: StepRun<A>) => Promise<HeldContainer>
}

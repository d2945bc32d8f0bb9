import type { ResolvedPush } from '@windlass/plan'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'

export async function runPush(_run: StepRun<ResolvedPush>): Promise<StepOutcome> {
  throw new StepFailure('internal', 'not there')
}

import type { ResolvedBuild } from '@windlass/plan'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'

export async function runBuild(_run: StepRun<ResolvedBuild>): Promise<StepOutcome> {
  throw new StepFailure('internal', 'not there')
}

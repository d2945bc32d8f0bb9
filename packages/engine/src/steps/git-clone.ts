import type { ResolvedGitClone } from '@windlass/plan'
import { StepFailure, type StepOutcome, type StepRun } from '../attempt/context.ts'

export async function runGitClone(_run: StepRun<ResolvedGitClone>): Promise<StepOutcome> {
  throw new StepFailure('internal', 'not there')
}

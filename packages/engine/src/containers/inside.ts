/** Protects credentials from files written by steps: no path may lead to what steps do not see. */
import { readFileSync } from 'node:fs'
import { VOLUME_PATH } from '@windlass/plan'
import type { AttemptContext } from '../attempt/context.ts'
import { StepFailure } from '../attempt/step-outcome.ts'

/** Functions for the start of a script. They need the variables of `roots`. */
export const INSIDE = readFileSync(new URL('inside.sh', import.meta.url), 'utf8')

/** Exit code of `require_inside`. The path is in the last line of standard error. */
export const OUTSIDE = 22

/** Returns the environment for a script with `INSIDE`. */
export function roots({ workspace }: Pick<AttemptContext, 'workspace'>): Record<string, string> {
  return { ROOTS: workspace.mounts.map(({ target }) => target).join('\n') }
}

/** Returns the failure for `OUTSIDE`. `tail` is the end of standard error. */
export function outsideFailure(tail: string): StepFailure {
  const path = tail.trim().split('\n').at(-1) ?? ''
  return new StepFailure('invalid-step', `${path} leads out of the shared volume.`, {
    hint: `Only files below ${VOLUME_PATH} can be used here, and symbolic links that stay there.`,
  })
}

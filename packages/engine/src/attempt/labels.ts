/** Labels of all objects that the engine creates in the Docker daemon. */
import { defined } from '@windlass/kit'
import type { AttemptInput } from './input.ts'

export const LABEL_BUILD = 'windlass.io/build'
export const LABEL_ATTEMPT = 'windlass.io/attempt'
export const LABEL_STEP = 'windlass.io/step'

/** Labels of environments that outlive their build: name, expiry (epoch seconds), and the build that created them. */
export const LABEL_ENVIRONMENT = 'windlass.io/environment'
export const LABEL_EXPIRES = 'windlass.io/expires'
export const LABEL_LAUNCHED_BY = 'windlass.io/launched-by'

/** Returns the labels of everything that an attempt creates on the daemon. */
export function attemptLabels(input: AttemptInput, step?: string): Record<string, string> {
  return {
    [LABEL_BUILD]: input.buildId,
    [LABEL_ATTEMPT]: String(input.attempt),
    ...defined({ [LABEL_STEP]: step }),
  }
}

import { fault } from '@windlass/kit'

/** Throws `not-found`. */
export function requireFound<T>(found: T | undefined, what: string): T {
  if (found === undefined) throw fault('not-found', { message: `There is no ${what}.` })
  return found
}

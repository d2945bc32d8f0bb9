import { fault } from '@windlass/kit'

/** Returns `found`. Throws `not-found` if it is undefined, with a message that begins with `what`. */
export function requireFound<T>(found: T | undefined, what: string): T {
  if (found === undefined)
    throw fault('not-found', { message: `${what.charAt(0).toUpperCase()}${what.slice(1)} does not exist.` })
  return found
}

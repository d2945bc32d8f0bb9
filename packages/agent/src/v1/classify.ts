/** Which failures are worth another try (runner specification 2.8, with what it got wrong put right). */
import { Fault, isFault } from '@windlass/kit'
import type { TaskOutcome } from './shapes.ts'

/**
 * HTTP answers of the API server after which the same call fails again. 422 is new: an object that is not valid does not become valid.
 */
const FINAL = [400, 401, 403, 405, 406, 413, 415, 422]

/** What is reported of a failure of the cluster; `doing` is `creating` or `deleting`, `object` is `namespace\name`. */
export function toFailure(error: unknown, doing: string, object: string): TaskOutcome & { ok: false } {
  const words = error instanceof Error ? error.message : String(error)
  return { ok: false, isRetriable: isPassing(error), reason: `failed ${doing} resource: ${object}: ${words}` }
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof Fault)) return true
  if (error.code === 'policy-refused') return false
  if (isAlreadyThere(error)) return false
  const status = Number(error.details['httpStatus'])
  return !FINAL.includes(status)
}

/** An object of that name exists; other conflicts pass. */
export function isAlreadyThere(error: unknown): boolean {
  return isFault(error, 'conflict') && error.details['kubeReason'] === 'AlreadyExists'
}

/** Nothing is there to be deleted. */
export function isGone(error: unknown): boolean {
  return isFault(error) && [404, 410].includes(Number(error.details['httpStatus']))
}

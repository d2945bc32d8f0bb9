/** Decides which failures are retriable, mostly as the public agent does. */
import { Fault, isFault } from '@windlass/kit'
import { isAlreadyThere } from '@windlass/kube'
import { failureMessage } from '../failure-message.ts'
import type { TaskOutcome } from './shapes.ts'

/**
 * HTTP statuses of the API server after which the same call fails again. Unlike in the public agent, 422 is one of them: an invalid object does not
 * become valid.
 */
const FINAL = [400, 401, 403, 405, 406, 413, 415, 422]

/** Returns the failure to report; `doing` is `creating` or `deleting`, `object` is `namespace\name`. */
export function toFailure(error: unknown, doing: string, object: string): TaskOutcome & { ok: false } {
  return { ok: false, isRetriable: isTransient(error), reason: `failed ${doing} resource: ${object}: ${failureMessage(error)}` }
}

function isTransient(error: unknown): boolean {
  if (!(error instanceof Fault)) return true
  if (error.code === 'policy-refused') return false
  if (isAlreadyThere(error)) return false
  return !FINAL.includes(statusOf(error) ?? 0)
}

/** Returns the status of an answer of the API server. A page of a proxy in front of it says nothing about the object. */
function statusOf({ details }: Fault): number | undefined {
  return details['kubeReason'] === undefined ? undefined : Number(details['httpStatus'])
}

/** Whether the object to delete does not exist. */
export function isGone(error: unknown): boolean {
  return isFault(error) && (error.code === 'not-found' || statusOf(error) === 410)
}

/** Whether the API server found the object or the patch of it invalid. */
export function isInvalid(error: unknown): boolean {
  return isFault(error) && statusOf(error) === 422
}

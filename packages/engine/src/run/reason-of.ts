/** Maps an error that ends an attempt to its reason and message. */
import { isFault, sentences } from '@windlass/kit'
import type { Reason } from '@windlass/plan'
import { StepFailure, StepStop } from '../attempt/step-outcome.ts'
import { isDiskFull, refusalStatus } from '../docker/containers.ts'

/** Returns the reason. `internal` is a bug, or a refusal by the daemon that the engine does not expect. */
export function reasonOf(error: unknown): Reason {
  // The disk of the spool belongs to the runtime like that of the daemon.
  if (isDiskFull(error) || isFault(error, 'spool-full')) return 'disk-full'
  if (isFault(error, 'docker-unreachable') || (refusalStatus(error) ?? 0) >= 500) return 'dind-lost'
  return error instanceof StepFailure || error instanceof StepStop ? error.reason : 'internal'
}

/** Returns the message of the outcome. It includes the hint, because an outcome has no field for it. */
export function messageOf(error: unknown): string {
  if (error instanceof StepFailure) return sentences(error.message, error.hint)
  return error instanceof Error ? error.message : String(error)
}

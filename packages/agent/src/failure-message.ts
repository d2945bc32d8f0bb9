import { Fault, sentences } from '@windlass/kit'

/**
 * Returns the text of an error for a fact or a report, which have no field for a hint. A hint of the error itself becomes part of it. Those of the fault
 * table are too general for that.
 */
export function failureMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const hint = error instanceof Fault ? error.details.hint : undefined
  return hint === undefined ? message : sentences(message, hint)
}

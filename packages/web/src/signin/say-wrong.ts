/** What a sign-in form says after a fault. */
import { isFault } from '@windlass/kit/faults'

/** Returns the message of a fault, with the wait if the server limits tries. Wrong names and wrong passwords are the same sentence. */
export function sayWrong(error: unknown): string {
  if (!isFault(error)) return error instanceof Error ? error.message : String(error)
  const { retryAfter } = error.details
  return typeof retryAfter !== 'number' ? error.message : `${error.message} Try again in ${retryAfter} s.`
}

/** What a check of a context ends with. */
import type { ContextCheckReason, ContextCheckResult } from '@windlass/protocol'

/** A check that succeeded. */
export type Reached = Pick<ContextCheckResult, 'message' | 'hint' | 'host' | 'identity'>

/** Thrown by a check that did not succeed. The message contains no secret and nothing of an answer. */
export class CheckFailure extends Error {
  readonly reason: ContextCheckReason
  readonly hint: string | undefined
  readonly host: string | undefined

  constructor(reason: ContextCheckReason, message: string, more: { readonly hint?: string; readonly host?: string } = {}) {
    super(message)
    this.name = 'CheckFailure'
    this.reason = reason
    this.hint = more.hint
    this.host = more.host
  }
}

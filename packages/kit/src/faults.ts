/** Faults: expected errors that a caller can act on. Browser-safe. Not here: their codes and texts (`fault-table.ts`). */
import { faults, type FaultSpec } from './fault-table.ts'
import type { Problem } from './problem.ts'

export { faults, type FaultSpec, type Work } from './fault-table.ts'
export type { Problem } from './problem.ts'
export { sentences } from './sentences.ts'

export type FaultCode = keyof typeof faults

export interface FaultDetails {
  /** One specific sentence that replaces the text of the table. */
  readonly message?: string
  readonly hint?: string
  readonly problems?: readonly Problem[]
  /** True if the response is not from our server but from a proxy or load balancer in front of it. */
  readonly foreign?: true
  /** Further machine-readable fields, such as `offset`. Never a secret. */
  readonly [field: string]: unknown
}

/** An expected error. Thrown, never returned; created by `fault()`. */
export class Fault extends Error {
  readonly code: FaultCode
  readonly status: number
  readonly hint: string
  readonly retryable: boolean
  readonly details: FaultDetails

  constructor(code: FaultCode, details: FaultDetails, cause?: unknown) {
    const spec: FaultSpec = faults[code]
    super(details.message ?? spec.text, cause === undefined ? undefined : { cause })
    this.name = 'Fault'
    this.code = code
    this.status = spec.status
    this.hint = details.hint ?? (hasProblems(details) ? spec.problemsHint : undefined) ?? spec.hint
    this.retryable = spec.retry === true
    this.details = details
  }
}

function hasProblems({ problems = [] }: FaultDetails): boolean {
  return problems.length > 0
}

/** Creates a fault: `throw fault('not-found', { message: 'Build 42 does not exist.' })`. */
export function fault(code: FaultCode, details: FaultDetails = {}, cause?: unknown): Fault {
  return new Fault(code, details, cause)
}

/** Returns true for a fault. With `codes`, only for a fault with one of these codes. */
export function isFault(error: unknown, ...codes: FaultCode[]): error is Fault {
  return error instanceof Fault && (codes.length === 0 || codes.includes(error.code))
}

/** Returns true if `code` is in the table. For codes that arrive over the wire. */
export function isFaultCode(code: string): code is FaultCode {
  return Object.hasOwn(faults, code)
}

/** Outcomes of steps, and the errors that end one. */
import { sentences } from '@windlass/kit'
import type { ExportedVariable, Reason, SealedNames, StepImage } from '@windlass/plan'

export interface StepOutcome {
  readonly status: 'success' | 'error' | 'terminated'
  readonly reason?: Reason | undefined
  readonly message?: string | undefined
  readonly hint?: string | undefined
  readonly exitCode?: number | undefined
  /** The image that its container used. */
  readonly image?: StepImage | undefined
  readonly members: Readonly<Record<string, string>>
  readonly exports: readonly ExportedVariable[]
  /** For a part of a typed step: what its parts have written to `/meta` so far. */
  readonly outputs?: Readonly<Record<string, string>> | undefined
  /** Names in `members` and `outputs` whose values contain a secret. */
  readonly sealed?: SealedNames | undefined
}

/** Why a step must stop. The reason of its abort signal. */
export class StepStop extends Error {
  readonly status: 'error' | 'terminated'
  readonly reason: Reason

  constructor(status: 'error' | 'terminated', reason: Reason, message: string) {
    super(message)
    this.name = 'StepStop'
    this.status = status
    this.reason = reason
  }
}

/** Thrown when a step cannot succeed. Becomes the outcome of the step. */
export class StepFailure extends Error {
  readonly reason: Reason
  readonly hint: string | undefined

  constructor(reason: Reason, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(sentences(message), options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'StepFailure'
    this.reason = reason
    this.hint = options.hint
  }
}

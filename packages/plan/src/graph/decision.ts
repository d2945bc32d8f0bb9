import type { FinalStepStatus, Reason } from '../lists.ts'
import type { Outcome } from './outcome.ts'

/** The result of one call of `decide`. Callers must carry out all decisions and fold their facts before they ask again. */
export type Decision =
  | { readonly type: 'start'; readonly step: string; readonly try: number }
  /**
   * Runs a failed group again after `delayMs`; `resets` are the steps that go back to pending then. The decision is repeated on every call
   * until the start is folded, or until it no longer applies (a cancel).
   */
  | {
      readonly type: 'restart'
      readonly step: string
      readonly try: number
      readonly delayMs: number
      readonly resets: readonly string[]
    }
  /** Ends a step without running it (not selected, not reached, invalid condition), a group whose steps have all ended, or a canceled wait. */
  | {
      readonly type: 'finish'
      readonly step: string
      readonly status: FinalStepStatus
      readonly reason?: Reason
      readonly message?: string
      /** Outputs of a typed step. */
      readonly outputs?: Readonly<Record<string, string>>
    }
  /** Nothing runs, and these approvals wait for a decision: the attempt can end, and another one continues later. */
  | { readonly type: 'pause'; readonly steps: readonly string[] }
  | { readonly type: 'end'; readonly outcome: Outcome }

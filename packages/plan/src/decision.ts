import type { FinalStepStatus, Reason } from './lists.ts'
import type { Outcome } from './outcome.ts'

/** Decisions of one call belong together: carry all of them out, and fold their facts, before asking again. */
export type Decision =
  | { readonly type: 'start'; readonly step: string; readonly try: number }
  /**
   * A group that failed runs again after a pause, and `resets` go back to pending then. It is decided anew on every call during the pause,
   * until its start is folded or it is decided no more (a cancel).
   */
  | {
      readonly type: 'restart'
      readonly step: string
      readonly try: number
      readonly delayMs: number
      readonly resets: readonly string[]
    }
  /** A step that ends without running: left out, not reached, its condition broken; a group whose steps have all ended; a wait that a cancel ends. */
  | {
      readonly type: 'finish'
      readonly step: string
      readonly status: FinalStepStatus
      readonly reason?: Reason
      readonly message?: string
      /** Of a typed step. */
      readonly outputs?: Readonly<Record<string, string>>
    }
  /** Nothing runs, and these approvals wait for somebody: the attempt can end, another one goes on. */
  | { readonly type: 'pause'; readonly steps: readonly string[] }
  | { readonly type: 'end'; readonly outcome: Outcome }

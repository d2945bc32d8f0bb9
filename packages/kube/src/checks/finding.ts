export interface Finding {
  /** Short name of the check. */
  readonly check: string
  /** `warn`: builds can run. */
  readonly status: 'pass' | 'warn' | 'fail'
  readonly message: string
  /** How to fix it. */
  readonly hint?: string | undefined
}

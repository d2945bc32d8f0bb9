import type { Finding } from '../runner/acceptance/finding.ts'

/** Receives each finding as soon as it is known. */
export interface Report {
  (finding: Finding): void
  /** Called before a check that may take long. */
  readonly begin?: (check: string) => void
}

import type { Finding } from '../runner/acceptance/finding.ts'

/** Takes what a check found, as soon as it is known. */
export type Report = (finding: Finding) => void

import type { Finding } from '../runner/acceptance/finding.ts'

/** Receives each finding as soon as it is known. */
export type Report = (finding: Finding) => void

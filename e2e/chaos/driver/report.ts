/** What a run tells a person: its seed, what landed, what was broken. A run whose faults missed does not count. */
import type { ChaosResult } from './run.ts'

const MOST_LINES = 40

export function report(name: string, { history, violations, crashes, landed, seconds }: ChaosResult): string {
  const counts = Object.entries(landed)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${what} ${count}`)
  const lines = violations
    .slice(0, MOST_LINES)
    .map(({ invariant, buildId, message }) => `  ${invariant} ${buildId ?? '-'} ${message}`)
  const ends = crashes.map((crash) => `  ${crash}`)
  return [
    `${name}: seed ${history.seed}, ${seconds} s; ${counts.join(', ')}; violations: ${violations.length}`,
    ...lines,
    ...ends,
  ].join('\n')
}

/** Kinds of faults that hit something alive less often than the run is worth; none when it counts. */
export function missedFaults({ landed }: ChaosResult, least: Readonly<Record<string, number>>): string[] {
  return Object.entries(least)
    .filter(([what, count]) => (landed[what] ?? 0) < count)
    .map(([what, count]) => `${what}: ${landed[what] ?? 0} of at least ${count}`)
}

/** One line for each run: its seed, what landed, what was broken. A run whose faults missed does not count. */
import { expect } from 'vitest'
import type { ChaosResult } from './run.ts'

export function report(name: string, { history, violations, landed, seconds }: ChaosResult): void {
  const counts = Object.entries(landed)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${what} ${count}`)
  console.log(`${name}: seed ${history.seed}, ${seconds} s; ${counts.join(', ')}; violations: ${violations.length}`)
  for (const { invariant, buildId, message } of violations.slice(0, 40))
    console.log(`  ${invariant} ${buildId ?? '-'} ${message}`)
}

/** Fails the test when fewer faults hit something alive than the run is worth. */
export function expectLanded({ landed }: ChaosResult, least: Readonly<Record<string, number>>): void {
  for (const [what, count] of Object.entries(least)) expect(landed[what] ?? 0, what).toBeGreaterThanOrEqual(count)
}

import { expect } from 'vitest'
import { missedFaults, report } from './report.ts'
import { runChaos, type ChaosPlan, type ChaosResult } from './run.ts'

/** Runs a plan and prints its report. Fails after a violation, if a process exited by itself, and if too few faults took effect. */
export async function expectSound(name: string, plan: ChaosPlan): Promise<ChaosResult> {
  const result = await runChaos(plan)
  console.log(report(name, result))
  expect(result.violations).toEqual([])
  expect(result.crashes).toEqual([])
  expect(missedFaults(result, plan.least)).toEqual([])
  return result
}

/**
 * Runs files with a failed test once more, alone, after all groups. A test that passes then depends on the load of the machine or on other
 * tests: the run ends well, and lists it as unsteady (docs/development/adr/0137).
 */
import { JUDGED_ONCE } from './groups.ts'
import type { Outcome } from './outcome.ts'
import type { GroupResult } from './summary.ts'

/** With more failed files than this the code is broken, and nothing is run again. */
const MOST_FILES = 3

/** Runs files of a group alone, and returns what came of them. */
export type RunFiles = (group: string, files: readonly string[]) => Promise<Outcome>

/** Returns the results after the second runs. */
export async function runAgain(results: readonly GroupResult[], runFiles: RunFiles): Promise<GroupResult[]> {
  const failed = results.flatMap(({ outcome }) => failedFiles(outcome))
  const mayRun = failed.length <= MOST_FILES && results.every(isEligible)
  const settled: GroupResult[] = []
  for (const result of results) {
    const files = failedFiles(result.outcome)
    if (!mayRun || files.length === 0) settled.push(result)
    else settled.push({ ...result, outcome: settle(result.outcome, await runFiles(result.name, files)) })
  }
  return settled
}

const failedFiles = ({ files }: Outcome): string[] => files.filter(({ failures }) => failures > 0).map(({ name }) => name)

/** Whether all failures of a group are tests of files that may run again, not the end of its process or a group that is judged once. */
function isEligible({ name, outcome: { failures, files } }: GroupResult): boolean {
  if (failures.length === 0) return true
  return !JUDGED_ONCE.has(name) && files.reduce((sum, file) => sum + file.failures, 0) === failures.length
}

/** Joins the outcome of a group with that of its failed files alone. All of these files have to pass. */
function settle(first: Outcome, second: Outcome): Outcome {
  if (second.failures.length > 0 || second.skips.length > 0) return first
  const passedBefore = first.files.filter(({ failures }) => failures > 0).reduce((sum, { passed }) => sum + passed, 0)
  const passed = first.passed - passedBefore + second.passed
  return { ...first, passed, failures: [], skips: skipsElsewhere(first), unsteady: first.failures }
}

/** Returns the skips of files without a failure. Where the preparation of a file fails, its tests are skipped. */
function skipsElsewhere({ skips, files }: Outcome): string[] {
  let at = 0
  return files.flatMap((file) => {
    const own = skips.slice(at, at + file.skips)
    at += file.skips
    return file.failures > 0 ? [] : own
  })
}

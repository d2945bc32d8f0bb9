/**
 * Adds up what `scripts/test` left in a folder: GROUP.json (vitest's JSON report) and GROUP.code (exit code), check.log.
 * Prints every failure, every skip and every test that passed at its second try, and at last one line `N passed, N failed`; exits 1 unless
 * all passed and almost all of them at once.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
})

export type Outcome = { passed: number; failures: string[]; skips: string[]; repeats: string[] }

/** With more second tries than this something is broken, whatever the tests say at last. */
const MAX_REPEATS = 3

/** Reads one group. A group that crashed, or ended badly though its tests passed, is one failure more. */
export function readGroup(group: string, code: number, report: string | undefined): Outcome {
  const outcome: Outcome = { passed: 0, failures: [], skips: [], repeats: [] }
  if (report !== undefined) {
    for (const file of Report.parse(JSON.parse(report)).testResults) {
      for (const test of file.assertionResults) {
        // What the tries before said is kept.
        const [before] = test.failureMessages ?? []
        if (test.status === 'passed' && before !== undefined)
          outcome.repeats.push(`${group}: ${test.fullName}\n${firstLines(before)}`)
        if (test.status === 'passed') outcome.passed += 1
        else if (test.status === 'failed')
          outcome.failures.push(`${group}: ${test.fullName}\n${firstLines(test.failureMessages?.[0] ?? '')}`)
        else outcome.skips.push(`${group}: ${test.fullName}`)
      }
      const shown = file.assertionResults.some(({ status }) => status === 'failed')
      if (file.status === 'failed' && !shown) outcome.failures.push(`${group}: ${file.name}\n${firstLines(file.message)}`)
    }
    const isEmpty = outcome.passed + outcome.failures.length + outcome.skips.length === 0
    if (outcome.failures.length === 0 && (code !== 0 || isEmpty))
      outcome.failures.push(`${group}: ended with exit code ${code}, see above`)
    return outcome
  }
  if (code === 0) outcome.passed = 1
  else outcome.failures.push(`${group}: ended with exit code ${code}, see above`)
  return outcome
}

/** The lines `ok name` and `FAIL name` of the quick checks. */
export function readChecks(log: string): Outcome {
  const failures = [...log.matchAll(/^FAIL (.*?)(?: \([\d.]+ s\))?$/gm)].map((match) => `check: ${match[1]}, see above`)
  const passed = [...log.matchAll(/^ok +/gm)].length
  if (passed + failures.length === 0) failures.push('check: did not run, see above')
  return { passed, failures, skips: [], repeats: [] }
}

/** The head of a message; the runner's own frames say nothing. */
function firstLines(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.includes('/node_modules/'))
    .slice(0, 12)
    .map((line) => `    ${line}`)
    .join('\n')
}

function main(folder: string): void {
  const total: Outcome = { passed: 0, failures: [], skips: [], repeats: [] }
  const add = (outcome: Outcome): void => {
    total.passed += outcome.passed
    total.failures.push(...outcome.failures)
    total.skips.push(...outcome.skips)
    total.repeats.push(...outcome.repeats)
  }
  const read = (name: string): string | undefined =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : undefined
  const checks = read('check.log')
  if (checks !== undefined) add(readChecks(checks))
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.code'))) {
    const group = file.slice(0, -'.code'.length)
    add(readGroup(group, Number(read(file)), read(`${group}.json`)))
  }
  if (total.repeats.length > MAX_REPEATS) total.failures.push('too many tests needed a second try')
  for (const failure of total.failures) console.log(`FAILED ${failure}`)
  for (const skip of total.skips) console.log(`SKIPPED ${skip}`)
  for (const repeat of total.repeats) console.log(`AT THE SECOND TRY ${repeat}`)
  const skipped = total.skips.length === 0 ? '' : `, ${total.skips.length} skipped`
  const repeated = total.repeats.length === 0 ? '' : `, ${total.repeats.length} at the second try`
  console.log(`${total.passed} passed, ${total.failures.length} failed${skipped}${repeated}`)
  if (total.failures.length + total.skips.length > 0) process.exit(1)
}

if (import.meta.main) main(process.argv[2] ?? '.')

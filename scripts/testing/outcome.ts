/** Reads the results of a run from its folder: JSON reports of vitest, exit codes, and the lines of the quick checks. */
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { JUDGED_ONCE } from './groups.ts'
import { retriesOf } from './retries.ts'

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      startTime: z.number().default(0),
      endTime: z.number().default(0),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          title: z.string().default(''),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
})

export interface Outcome {
  passed: number
  failures: string[]
  skips: string[]
  /** Tests that passed at their second try and have a reason for the retry. */
  repeats: string[]
  /** Tests that failed beside others and passed when their files ran alone, with their failures. */
  unsteady: string[]
  files: TestFile[]
}

export interface TestFile {
  readonly name: string
  readonly seconds: number
  readonly passed: number
  readonly failures: number
  /** Tests that did not run: those of a file whose preparation failed are among them. */
  readonly skips: number
}

/** Reads one group. A group that crashed, or exited with an error although its tests passed, counts as one more failure. */
export function readGroup(group: string, code: number, report: string | undefined, readSource = read): Outcome {
  const outcome: Outcome = { passed: 0, failures: [], skips: [], repeats: [], unsteady: [], files: [] }
  if (report === undefined) {
    if (code === 0) outcome.passed = 1
    else outcome.failures.push(`${group}: ended with exit code ${code}, see above`)
    return outcome
  }
  const mayRepeat = !JUDGED_ONCE.has(group)
  for (const file of Report.parse(JSON.parse(report)).testResults) {
    const before = { passed: outcome.passed, failures: outcome.failures.length, skips: outcome.skips.length }
    for (const test of file.assertionResults) {
      const name = `${group}: ${test.fullName}`
      const [message] = test.failureMessages ?? []
      if (test.status === 'failed') outcome.failures.push(`${name}\n${firstLines(message ?? '')}`)
      else if (test.status !== 'passed') outcome.skips.push(name)
      else {
        outcome.passed += 1
        // Keeps the failure of the first try.
        if (message !== undefined)
          addRepeat(
            outcome,
            `${name}\n${firstLines(message)}`,
            mayRepeat ? reasonFor(test.title, readSource(file.name)) : undefined,
          )
      }
    }
    const shown = file.assertionResults.some(({ status }) => status === 'failed')
    if (file.status === 'failed' && !shown) outcome.failures.push(`${group}: ${file.name}\n${firstLines(file.message)}`)
    outcome.files.push({
      name: file.name,
      seconds: (file.endTime - file.startTime) / 1_000,
      passed: outcome.passed - before.passed,
      failures: outcome.failures.length - before.failures,
      skips: outcome.skips.length - before.skips,
    })
  }
  const isEmpty = outcome.passed + outcome.failures.length + outcome.skips.length === 0
  if (outcome.failures.length === 0 && (code !== 0 || isEmpty))
    outcome.failures.push(`${group}: ended with exit code ${code}, see above`)
  return outcome
}

function addRepeat(outcome: Outcome, text: string, reason: string | undefined): void {
  if (reason === undefined) outcome.failures.push(`${text}\n    passed at the second try, and names no reason for one`)
  else outcome.repeats.push(`${text}\n    its reason: ${reason}`)
}

function reasonFor(title: string, source: string): string | undefined {
  // Titles of `test.each` differ from what is written where a placeholder stands.
  return retriesOf(source).find((retry) => title.startsWith(retry.title.split(/[$%]/)[0] ?? ''))?.reason
}

const read = (path: string): string => readFileSync(path, 'utf8')

/** The lines `ok name` and `FAIL name` of the quick checks. */
export function readChecks(log: string): Outcome {
  const failures = [...log.matchAll(/^FAIL (.*?)(?: \([\d.]+ s\))?$/gm)].map((match) => `check: ${match[1]}, see above`)
  const passed = [...log.matchAll(/^ok +/gm)].length
  if (passed + failures.length === 0) failures.push('check: did not run, see above')
  return { passed, failures, skips: [], repeats: [], unsteady: [], files: [] }
}

/** The first lines of a message, without frames of the test runner. */
function firstLines(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.includes('/node_modules/'))
    .slice(0, 12)
    .map((line) => `    ${line}`)
    .join('\n')
}

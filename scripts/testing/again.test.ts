import { expect, test } from 'vitest'
import { runAgain, type RunFiles } from './again.ts'
import type { Outcome, TestFile } from './outcome.ts'
import type { GroupResult } from './summary.ts'

const file = (name: string, passed: number, failures = 0, skips = 0): TestFile => ({
  name,
  seconds: 1,
  passed,
  failures,
  skips,
})
const outcomeOf = (files: TestFile[]): Outcome => ({
  passed: files.reduce((sum, { passed }) => sum + passed, 0),
  failures: files.flatMap(({ name, failures }) => Array.from({ length: failures }, () => `${name} failed`)),
  skips: files.flatMap(({ name, skips }) => Array.from({ length: skips }, () => `${name} skipped`)),
  repeats: [],
  unsteady: [],
  files,
})
const group = (name: string, ...files: TestFile[]): GroupResult => ({
  name,
  seconds: 1,
  cpuSeconds: 1,
  outcome: outcomeOf(files),
})
/** Runs files with the given result and notes which. */
function runner(files: TestFile[]): { run: RunFiles; asked: string[] } {
  const asked: string[] = []
  const run: RunFiles = (name, names) => {
    asked.push(`${name} ${names.join(' ')}`)
    return Promise.resolve(outcomeOf(files))
  }
  return { run, asked }
}

test('a test that passes when its file runs alone is unsteady and no failure', async () => {
  const { run, asked } = runner([file('b', 3)])
  const [http, unit] = await runAgain([group('http', file('a', 5), file('b', 2, 1)), group('unit', file('c', 1))], run)
  expect(asked).toEqual(['http b'])
  expect(http?.outcome).toMatchObject({ passed: 8, failures: [], unsteady: ['b failed'] })
  expect(unit?.outcome).toMatchObject({ passed: 1, unsteady: [] })
})

test('the tests of a file whose preparation failed count by its second run, and other skips stay', async () => {
  const { run } = runner([file('b', 7)])
  const [http] = await runAgain([group('http', file('a', 1, 0, 1), file('b', 0, 1, 7), file('c', 1, 0, 2))], run)
  expect(http?.outcome).toMatchObject({ passed: 9, failures: [], skips: ['a skipped', 'c skipped', 'c skipped'] })
})

test('a test that fails again stays a failure', async () => {
  const { run } = runner([file('b', 2, 1)])
  const [http] = await runAgain([group('http', file('b', 2, 1))], run)
  expect(http?.outcome).toMatchObject({ passed: 2, failures: ['b failed'], unsteady: [] })
})

test.each(['chaos', 'drills'])('a failure of %s counts, and nothing runs again', async (name) => {
  const { run, asked } = runner([file('a', 1)])
  const results = [group(name, file('a', 0, 1)), group('http', file('b', 0, 1))]
  expect(await runAgain(results, run)).toEqual(results)
  expect(asked).toEqual([])
})

test('nothing runs again where more than three files failed, or a group failed beside its files', async () => {
  const { run, asked } = runner([file('a', 1)])
  await runAgain([group('http', file('a', 0, 1), file('b', 0, 1)), group('web', file('c', 0, 1), file('d', 0, 1))], run)
  const crashed = group('http', file('a', 0, 1))
  crashed.outcome.failures.push('http: ended with exit code 137, see above')
  await runAgain([crashed], run)
  expect(asked).toEqual([])
})

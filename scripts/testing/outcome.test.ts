import { expect, test } from 'vitest'
import { readChecks, readGroup } from './outcome.ts'

const report = (...tests: { fullName: string; title?: string; status: string; failureMessages?: string[] }[]): string =>
  JSON.stringify({
    testResults: [
      { name: 'a.test.ts', status: 'passed', message: '', startTime: 1_000, endTime: 3_500, assertionResults: tests },
    ],
  })

test('counts passes, failures and skips of a group', () => {
  const outcome = readGroup(
    'unit',
    1,
    report(
      { fullName: 'one', status: 'passed' },
      { fullName: 'two', status: 'failed', failureMessages: ['broken'] },
      { fullName: 'three', status: 'skipped' },
    ),
  )
  expect(outcome).toMatchObject({ passed: 1, failures: ['unit: two\n    broken'], skips: ['unit: three'], repeats: [] })
  expect(outcome.files).toEqual([{ name: 'a.test.ts', seconds: 2.5, passed: 1, failures: 1, skips: 1 }])
})

test('lists a test that passed at its second try with its reason and first failure', () => {
  const twice = report({ fullName: 'fakes one', title: 'one', status: 'passed', failureMessages: ['not within 60 s'] })
  const source = "// The fake cloud forgets a volume now and then.\ntest('one', { retry: 1 }, () => {})\n"
  const { passed, failures, repeats } = readGroup('runner', 0, twice, () => source)
  expect(passed).toBe(1)
  expect(failures).toEqual([])
  expect(repeats).toEqual([
    'runner: fakes one\n    not within 60 s\n    its reason: The fake cloud forgets a volume now and then.',
  ])
})

test('a test that passed at its second try without a reason is a failure', () => {
  const twice = report({ fullName: 'one', title: 'one', status: 'passed', failureMessages: ['not within 60 s'] })
  expect(readGroup('runner', 0, twice, () => "test('one', () => {})").failures).toHaveLength(1)
})

test.each(['chaos', 'drills'])('a test of %s that passed at its second try is a failure, even with a reason', (group) => {
  const twice = report({ fullName: 'one', title: 'one', status: 'passed', failureMessages: ['7 bytes are lost'] })
  const source = "// The fake cloud forgets a volume now and then.\ntest('one', { retry: 1 }, () => {})\n"
  const { failures, repeats } = readGroup(group, 0, twice, () => source)
  expect(failures).toHaveLength(1)
  expect(repeats).toEqual([])
})

test('a group that exits with an error has failed, even if its tests passed', () => {
  expect(readGroup('http', 1, report({ fullName: 'one', status: 'passed' })).failures).toHaveLength(1)
})

test('a file that could not be loaded is a failure', () => {
  const broken = { testResults: [{ name: 'b.test.ts', status: 'failed', message: 'cannot load', assertionResults: [] }] }
  expect(readGroup('http', 1, JSON.stringify(broken)).failures).toEqual(['http: b.test.ts\n    cannot load'])
})

test('a group without tests or without a report has failed', () => {
  expect(readGroup('store', 0, JSON.stringify({ testResults: [] })).failures).toHaveLength(1)
  expect(readGroup('store', 124, undefined).failures).toHaveLength(1)
})

test('counts quick checks by their lines', () => {
  expect(readChecks('ok   lint (1.0 s)\nFAIL types (2.0 s)\nerror: x\n')).toEqual({
    passed: 1,
    failures: ['check: types, see above'],
    skips: [],
    repeats: [],
    unsteady: [],
    files: [],
  })
  expect(readChecks('').failures).toHaveLength(1)
})

import { expect, test } from 'vitest'
import { readChecks, readGroup } from './test-summary.ts'

const report = (...tests: { fullName: string; status: string; failureMessages?: string[] }[]): string =>
  JSON.stringify({ testResults: [{ name: 'a.test.ts', status: 'passed', message: '', assertionResults: tests }] })

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
  expect(outcome).toEqual({ passed: 1, failures: ['unit: two\n    broken'], skips: ['unit: three'], repeats: [] })
})

test('a test that passed at its second try is told with what the first one said', () => {
  const { passed, repeats } = readGroup(
    'cluster',
    0,
    report({ fullName: 'one', status: 'passed', failureMessages: ['not within 60 s'] }),
  )
  expect(passed).toBe(1)
  expect(repeats).toEqual(['cluster: one\n    not within 60 s'])
})

test('a group whose tests passed and that ended badly all the same has failed', () => {
  expect(readGroup('http', 1, report({ fullName: 'one', status: 'passed' })).failures).toHaveLength(1)
})

test('a file that could not be loaded is a failure though it has no tests', () => {
  const broken = { testResults: [{ name: 'b.test.ts', status: 'failed', message: 'cannot load', assertionResults: [] }] }
  expect(readGroup('http', 1, JSON.stringify(broken)).failures).toEqual(['http: b.test.ts\n    cannot load'])
})

test('a group without tests has failed, and so has one without a report', () => {
  expect(readGroup('store', 0, JSON.stringify({ testResults: [] })).failures).toHaveLength(1)
  expect(readGroup('store', 124, undefined).failures).toHaveLength(1)
})

test('quick checks are counted by their lines', () => {
  expect(readChecks('ok   lint (1.0 s)\nFAIL types (2.0 s)\nerror: x\n')).toEqual({
    passed: 1,
    failures: ['check: types, see above'],
    skips: [],
    repeats: [],
  })
  expect(readChecks('').failures).toHaveLength(1)
})

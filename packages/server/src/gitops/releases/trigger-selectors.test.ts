import { GitTriggerSelector } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { selectsCommit } from './trigger-selectors.ts'

const select = (key: string, operator: string, ...values: string[]): GitTriggerSelector =>
  GitTriggerSelector.parse({ key, operator, values })
const commit = { message: 'feat: baskets\n\nRelease-Note: yes\n', branch: 'main' }

test('without selectors every commit starts a release', () => {
  expect(selectsCommit([], commit)).toBe(true)
})

test.each([
  [true, 'commitMessage', 'In', ['Release-Note: yes']],
  [false, 'commitMessage', 'In', ['release-note: yes']],
  [true, 'commitMessage', 'In', ['fix:*', 'feat:*']],
  [false, 'commitMessage', 'In', ['eat:*']],
  [false, 'commitMessage', 'NotIn', ['feat:*']],
  [true, 'commitMessage', 'NotIn', ['[skip release]']],
  [true, 'gitRevision', 'In', ['main']],
  [false, 'gitRevision', 'In', ['mai']],
  [true, 'gitRevision', 'In', ['release/*', 'm*n']],
  [false, 'gitRevision', 'In', ['main*n']],
  [false, 'gitRevision', 'NotIn', ['main']],
] as const)('%s: %s %s %j', (expected, key, operator, values) => {
  expect(selectsCommit([select(key, operator, ...values)], commit)).toBe(expected)
})

test('all selectors have to match', () => {
  const branch = select('gitRevision', 'In', 'main')
  expect(selectsCommit([branch, select('commitMessage', 'In', 'feat:*')], commit)).toBe(true)
  expect(selectsCommit([branch, select('commitMessage', 'In', 'fix:*')], commit)).toBe(false)
})

test('a pattern with many parts is fast on a long text', () => {
  const text = { message: 'a'.repeat(2_000), branch: '' }
  expect(selectsCommit([select('commitMessage', 'In', `${'a*'.repeat(99)}b`)], text)).toBe(false)
})

import { expect, test } from 'vitest'
import { describeChanges } from './describe-changes.ts'

test('names the fields that differ, with their values before and after', () => {
  expect(
    describeChanges('push', { branch: 'main', events: ['push'], kept: 1 }, { branch: 'next', kept: 1, disabled: true }),
  ).toBe('push: branch main -> next, events ["push"] -> none, disabled none -> true')
  expect(describeChanges('push', { a: 1 }, { a: 1 })).toBe('push: no change')
})

test('a new thing has no values before and no empty ones, and long values are cut', () => {
  expect(describeChanges('push', undefined, { branch: 'x'.repeat(100), disabled: false, contexts: [] })).toBe(
    `push, new: branch ${'x'.repeat(80)}…`,
  )
})

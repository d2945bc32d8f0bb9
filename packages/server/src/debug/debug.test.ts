import { expect, test } from 'vitest'
import { applyChange } from './debug.ts'

test('a change keeps the settings that it does not name, and adds its breakpoints', () => {
  const before = { steps: { one: ['before' as const] }, onFailure: true, timeoutMs: 900_000 }
  expect(applyChange(before, { timeoutMs: 3_600_000 })).toEqual({ ...before, timeoutMs: 3_600_000 })
  expect(applyChange(before, { steps: { one: ['after', 'before'], two: ['override'] } })).toEqual({
    ...before,
    steps: { one: ['before', 'after'], two: ['override'] },
  })
  expect(applyChange(before, { steps: Object.fromEntries([['toString', ['before' as const]]]) }).steps).toEqual({
    ...before.steps,
    toString: ['before'],
  })
  expect(applyChange(before, { onFailure: false })).toEqual({ ...before, onFailure: false })
})

test('the first change of a build without debugging starts from no breakpoints', () => {
  expect(applyChange(undefined, { onTimeout: 'continue' })).toEqual({ steps: {}, onFailure: false, onTimeout: 'continue' })
})

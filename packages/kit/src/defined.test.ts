import { expect, test } from 'vitest'
import { defined } from './defined.ts'

test('keeps the fields that have a value, also null, empty and false ones', () => {
  const fields = { a: 1, b: undefined, c: null, d: '', e: false }
  expect(Object.entries({ name: 'x', ...defined(fields) })).toEqual([
    ['name', 'x'],
    ['a', 1],
    ['c', null],
    ['d', ''],
    ['e', false],
  ])
})

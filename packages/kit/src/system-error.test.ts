import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fault } from './faults.ts'
import { hasCode } from './system-error.ts'

test('recognizes the code of a system error', () => {
  const read = (): unknown => {
    try {
      return readFileSync('/does/not/exist')
    } catch (error) {
      return error
    }
  }
  expect(hasCode(read(), 'ENOENT')).toBe(true)
  expect(hasCode(read(), 'ESTALE', 'ENOENT')).toBe(true)
  expect(hasCode(read(), 'EEXIST')).toBe(false)
  expect(hasCode(read())).toBe(false)
})

test('returns false for errors without a code and for other values', () => {
  expect(hasCode(new Error('ENOENT'), 'ENOENT')).toBe(false)
  expect(hasCode(fault('internal'), 'ENOENT')).toBe(false)
  expect(hasCode({ code: 'ENOENT' }, 'ENOENT')).toBe(false)
  expect(hasCode(undefined, 'ENOENT')).toBe(false)
})

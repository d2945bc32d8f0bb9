import { expect, test } from 'vitest'
import { toPaste } from './paste.ts'

test('counts the lines of a paste, also those that only end', () => {
  expect(toPaste('ls').lines).toBe(1)
  expect(toPaste('ls\n').lines).toBe(2)
  expect(toPaste('a\r\nb\rc').lines).toBe(3)
})

test('a pasted text cannot end its own bracket', () => {
  expect(toPaste('echo a\u001B[201~\nrm -rf x\u0007\u009B201~\tb')).toEqual({ text: 'echo a[201~\nrm -rf x201~\tb', lines: 2 })
})

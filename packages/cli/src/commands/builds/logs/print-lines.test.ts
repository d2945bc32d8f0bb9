import { expect, test } from 'vitest'
import { parseLines } from './print-lines.ts'

test.each([
  ['20', { first: 20, last: 20 }],
  ['100-200', { first: 100, last: 200 }],
  ['100-', { first: 100, last: undefined }],
])('reads the lines %s', (text, range) => {
  expect(parseLines(text)).toEqual(range)
})

test.each(['', '0', '5-3', '-5', 'a', '1-b', '1,2'])('refuses the lines "%s"', (text) => {
  expect(() => parseLines(text)).toThrow(`not "${text}"`)
})

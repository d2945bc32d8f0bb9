import { expect, test } from 'vitest'
import { alignColumns, cut, widthOf } from './columns.ts'
import { styleFor } from './style.ts'
import { formatAge } from './time.ts'

test('columns are as wide as their widest cell, and lines have no blanks at the end', () => {
  expect(
    alignColumns([
      ['NAME', 'AGE', 'X'],
      ['long-name', '1s', ''],
    ]),
  ).toEqual(['NAME       AGE  X', 'long-name  1s'])
})

test('colours do not count for the width', () => {
  const { red } = styleFor(true)
  expect(widthOf(red('abc'))).toBe(3)
  expect(
    alignColumns([
      [red('a'), 'b'],
      ['aa', 'b'],
    ])[0],
  ).toBe(`${red('a')}   b`)
})

test('without colours a style leaves texts as they are', () => {
  expect(styleFor(false).red('abc')).toBe('abc')
})

test('a text is cut by characters, not by code units', () => {
  expect(cut('🚀🚀🚀', 2)).toBe('🚀…')
})

test('ages are written in one unit', () => {
  expect([5_000, 300_000, 3 * 3_600_000, 5 * 86_400_000].map((ms) => formatAge(0, ms))).toEqual(['5s', '5m', '3h', '5d'])
})

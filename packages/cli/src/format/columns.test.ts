import { expect, test } from 'vitest'
import { alignColumns, cut, widthOf } from './columns.ts'
import { styleFor } from './style.ts'
import { formatAge } from './time.ts'

test('columns are as wide as their widest cell, without trailing spaces', () => {
  expect(
    alignColumns([
      ['NAME', 'AGE', 'X'],
      ['long-name', '1s', ''],
    ]),
  ).toEqual(['NAME       AGE  X', 'long-name  1s'])
})

test('a cell with several lines stays in its row', () => {
  const rows = [
    ['NAME', 'WHY'],
    ['one\r\n  two', 'first\n\nsecond\n'],
    ['three', 'x'],
  ]
  expect(alignColumns(rows)).toEqual(['NAME     WHY', 'one two  first second', 'three    x'])
})

test('colors do not count toward the width', () => {
  const { red } = styleFor(true)
  expect(widthOf(red('abc'))).toBe(3)
  expect(
    alignColumns([
      [red('a'), 'b'],
      ['aa', 'b'],
    ])[0],
  ).toBe(`${red('a')}   b`)
})

test('a style without colors returns texts unchanged', () => {
  expect(styleFor(false).red('abc')).toBe('abc')
})

test('cuts a text by characters, not by code units', () => {
  expect(cut('🚀🚀🚀', 2)).toBe('🚀…')
})

test('formats ages in one unit', () => {
  expect([5_000, 300_000, 3 * 3_600_000, 5 * 86_400_000].map((ms) => formatAge(0, ms))).toEqual(['5s', '5m', '3h', '5d'])
})

test('cuts a colored text by its width, and keeps the code that ends the color', () => {
  const { red } = styleFor(true)
  expect(cut(`${red('abcdef')}gh`, 4)).toBe(red('abc…'))
  expect(cut(`${red('abc')}def`, 4)).toBe(`${red('abc')}…`)
})

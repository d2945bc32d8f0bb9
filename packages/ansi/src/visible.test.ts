import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../plan/test/cpu-time.ts'
import { colorsAfter } from './colors.ts'
import { visibleText } from './visible.ts'

const ESC = '\u001B'

test.each([
  ['colors', `${ESC}[1;31mFAIL${ESC}[0m one`, 'FAIL one'],
  ['256 and true colors', `${ESC}[38;5;9ma${ESC}[38:2::1:2:3mb${ESC}[m`, 'ab'],
  ['the end of a Windows line', 'one\r\ntwo\r\n', 'one\ntwo\n'],
  ['a carriage return that overwrites', 'Downloading 10 %\rDone', 'Doneloading 10 %'],
  ['a long line that is erased, with a cursor that stays', `${'x'.repeat(4_000)}${ESC}[2Ky`, `${' '.repeat(1_000)}y`],
  ['a progress bar that erases its line', ` 10 %\r${ESC}[K 50 %\r${ESC}[2K100 %\r\n`, '100 %\n'],
  ['backspaces', '|\b/\b-\bok', 'ok'],
  ['a move to a column', `abcdef${ESC}[3GX${ESC}[2DY`, 'aYXdef'],
  ['a move beyond the end', `a${ESC}[3Cb`, 'a   b'],
  ['a huge move', `a${ESC}[999999999Cb`, `a${' '.repeat(999)}b`],
  ['an erased end', `abc\b\b${ESC}[K`, 'a'],
  ['a link', `${ESC}]8;;https://example.test${ESC}\\text${ESC}]8;;${ESC}\\`, 'text'],
  ['a title that ends with a bell', `${ESC}]0;title\u0007text`, 'text'],
  ['a sequence that its line cuts off', `one${ESC}[3\ntwo${ESC}]0;title\nthree`, 'one\ntwo\nthree'],
  ['other escapes and controls', `a${ESC}(Bb${ESC}7c\u0007\u0000d\u009B31me`, 'abcde'],
  ['a private mode', `${ESC}[?25lwait${ESC}[?25h`, 'wait'],
  ['tabs and other letters', 'ä\t😀', 'ä\t😀'],
])('shows what a terminal shows for %s', (_, text, visible) => {
  expect(visibleText(text)).toBe(visible)
})

test('lines keep their numbers, and each is shown by itself', () => {
  const lines = ['plain', `${ESC}[32mgreen`, 'a\rb', '', `${ESC}]open`, 'last']
  expect(visibleText(lines.join('\n')).split('\n')).toEqual(lines.map(visibleText))
})

test('a line of backspaces and moves takes linear time', () => {
  const evil = ['ab\b', `${ESC}[9999Ca${ESC}[2K`, `x${ESC}[K\r`]
  for (const part of evil) expect(growth(4_000, (n) => void visibleText(part.repeat(n)))).toBeLessThan(LINEAR)
})

test.each([
  ['', ''],
  ['plain', ''],
  [`${ESC}[31mred`, '31'],
  [`${ESC}[1;31mred`, '1;31'],
  [`${ESC}[31m${ESC}[1m${ESC}[32m`, '1;32'],
  [`${ESC}[1;4;31m${ESC}[22;24m`, '31'],
  [`${ESC}[31m${ESC}[0m`, ''],
  [`${ESC}[31m${ESC}[m`, ''],
  [`${ESC}[38;5;196;1m`, '38;5;196;1'],
  [`${ESC}[48;2;1;2;3m${ESC}[39m`, '48;2;1;2;3'],
  [`${ESC}[38:2::1:2:3m`, '38:2::1:2:3'],
  [`${ESC}[4:3m${ESC}[4:0m`, ''],
  [`${ESC}[91;101m`, '91;101'],
  [`${ESC}[31m${ESC}[2K text`, '31'],
])('%j leaves the colors %j', (text, colors) => {
  expect(colorsAfter(text)).toBe(colors)
})

import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../plan/test/cpu-time.ts'
import { sanitizeLine } from './safe.ts'

test('a sanitized line keeps colors and drops sequences that move the cursor, set titles or ring the bell', () => {
  expect(sanitizeLine('\u001B[31mred\u001B[0m')).toBe('\u001B[31mred\u001B[0m')
  expect(sanitizeLine('\u001B[2J\u001B[1;1Hgone\u0007')).toBe('gone')
  expect(sanitizeLine('\u001B]0;title\u0007text\u001B]52;c;aGk=\u001B\\')).toBe('text')
  expect(sanitizeLine('\u001Bcreset')).toBe('reset')
  expect(sanitizeLine('tab\tstays')).toBe('tab\tstays')
})

test('keeps the last state of a line that redraws itself', () => {
  expect(sanitizeLine('10%\r50%\r100%')).toBe('100%')
  expect(sanitizeLine('done\r')).toBe('done')
})

test.each([
  ['\u001B[\u00072J', '2J'],
  ['\u001B[\u009F6n', '6n'],
  ['\u001B[?1049\u0007h', 'h'],
  ['\u001B[\t2J', '\t2J'],
  ['\u001B[\u001B[2J', ''],
  ['\u001B[\u001B[31m2J', '\u001B[31m2J'],
  ['\u001B\u0007[2J', '[2J'],
  ['\u001B\u001B\u001B', ''],
  ['\u001B[3', ''],
  ['\u001B[é2J', 'é2J'],
  ['\u001B[>4;2m', ''],
  ['\u001B[?4m', ''],
  ['\u001B[4 m', ''],
  ['a\nb', 'ab'],
])('no sequence remains of %j', (line, expected) => {
  expect(sanitizeLine(line)).toBe(expected)
})

test.each(['\r', '\u001B', '\u001B[', '\u001B[1', '\u001B[1;', '\u001B]', '\u001B]x', '1', ' ', '\u001B[ '])(
  'takes linear time for many %j',
  (piece) => {
    for (const start of ['', '\u001B', '\u001B[', '\u001B]'])
      expect(growth(25_000, (n) => void sanitizeLine(`${start}${piece.repeat(n)}é`))).toBeLessThan(LINEAR)
  },
)

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineSplitter, textFor } from './line-splitter.ts'

test('splits lines regardless of chunk boundaries', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.array(fc.nat(20)), (words, sizes) => {
      const lines = words.map((word) => word.replaceAll(/[\r\n]/g, ''))
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      const splitter = lineSplitter()
      const found: string[] = []
      let at = 0
      for (let n = 0; at < bytes.length; n += 1) {
        const size = (sizes[n % Math.max(1, sizes.length)] ?? 0) + 1
        found.push(...splitter.push(bytes.subarray(at, at + size)).map(String))
        at += size
      }
      expect(found).toEqual(lines)
      expect(splitter.flush()).toBeUndefined()
    }),
  )
})

test('flush returns the text after the last line end once', () => {
  const splitter = lineSplitter()
  expect(splitter.push(Buffer.from('a\r\nb')).map(String)).toEqual(['a'])
  expect(splitter.flush()?.toString()).toBe('b')
  expect(splitter.flush()).toBeUndefined()
})

test('splits output without line ends into parts instead of buffering it', () => {
  const splitter = lineSplitter()
  expect(splitter.push(Buffer.alloc(200_000, 'x')).map(({ length }) => length)).toEqual([65_536, 65_536, 65_536])
})

test('a line end does not leave an incomplete sequence', () => {
  expect(textFor({ isTTY: true }, '\u001B[\n2J\u001B]0;title\nrest')).toBe('\n2J\nrest')
  expect(textFor({ isTTY: false }, '\u001B[\n2J')).toBe('\u001B[\n2J')
})

const PIECES = [
  '\u001B',
  '[',
  ']',
  '\\',
  'm',
  'J',
  'h',
  '?',
  '>',
  ';',
  ':',
  '2',
  ' ',
  '\t',
  '\n',
  '\r',
  '\u0007',
  '\u009B',
  '\u009F',
  '\u0000',
  'P',
]

test('the text for a terminal has no control characters except colors, and is not changed by a second pass', () => {
  const hostile = fc.array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: 'binary' })))
  fc.assert(
    fc.property(hostile, (pieces) => {
      const once = textFor({ isTTY: true }, pieces.join(''))
      // oxlint-disable-next-line no-control-regex
      expect(once.replaceAll(/\u001B\[[\d;:]*m/g, '.')).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/)
      expect(textFor({ isTTY: true }, once)).toBe(once)
    }),
    { numRuns: 5_000 },
  )
})

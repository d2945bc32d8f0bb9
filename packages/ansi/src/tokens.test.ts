import fc from 'fast-check'
import { expect, test } from 'vitest'
import { growth, LINEAR } from '../../plan/test/cpu-time.ts'
import { attributesOf, colorsAfter } from './colors.ts'
import { LineReader, LONGEST_LINE_BYTES } from './lines.ts'
import { tokenizeLine, type Token } from './tokens.ts'
import { ESCAPE_CASES } from './escape-cases.ts'
import { visibleText } from './visible.ts'

const ESC = '\u001B'

/** Writes tokens as text: `{STYLE|text}`, `<ADDRESS|text>` for links, and `!` after a mark. */
function written(tokens: readonly Token[]): string {
  return tokens
    .map(({ text, style, link, isMark }) => {
      const linked = link === undefined ? text : `<${link}|${text}>`
      return (style === '' ? linked : `{${style}|${linked}}`) + (isMark === true ? '!' : '')
    })
    .join('')
}

test.each(ESCAPE_CASES.map(({ name, line, tokens }) => [name, line, tokens] as const))('shows %s (W057)', (_, line, tokens) => {
  expect(written(tokenizeLine(line).tokens)).toBe(tokens)
})

test('the table has at least 60 cases with different input', () => {
  expect(new Set(ESCAPE_CASES.map(({ line }) => line)).size).toBeGreaterThanOrEqual(60)
})

/** Texts that are rich in sequences. */
const PIECES = [
  ESC,
  `${ESC}[`,
  `${ESC}]8;;`,
  'https://example.test/a',
  `${ESC}\\`,
  'm',
  'K',
  'G',
  '0',
  '1',
  '31',
  '38;5;',
  ';',
  ':',
  '\r',
  '\b',
  '\n',
  '\t',
  '\u0007',
  '\u009B',
  '\u202E',
  '\u200B',
  'ä',
  '😀',
  'text ',
]
const hostile = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''))
const anyBytes = fc.oneof(
  hostile.map((text) => new TextEncoder().encode(text)),
  fc.uint8Array({ maxLength: 200 }),
)

/** Returns the lines of bytes that arrive in parts, with the unfinished one. */
function linesOf(parts: readonly Uint8Array[]): { tokens: readonly Token[]; cut: number }[] {
  const reader = new LineReader()
  let style = ''
  const lines = parts.flatMap((part) => reader.push(part))
  return [...lines, reader.rest].map(({ text, cut }) => {
    const line = tokenizeLine(text, style)
    style = line.style
    return { tokens: line.tokens, cut }
  })
}

test('any bytes in any parts have the same tokens (W057)', () => {
  fc.assert(
    fc.property(anyBytes, fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (bytes, sizes) => {
      const parts: Uint8Array[] = []
      for (let at = 0, n = 0; at < bytes.length; n += 1) {
        const size = sizes[n % sizes.length] ?? 1
        parts.push(bytes.subarray(at, at + size))
        at += size
      }
      expect(linesOf(parts)).toEqual(linesOf([bytes]))
    }),
    { numRuns: 2_000 },
  )
})

test('the text of the tokens of a line is the text that the search reads', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      for (const line of text.split('\n')) {
        // A carriage return at the end of a line is part of the line end.
        expect(
          tokenizeLine(line)
            .tokens.map((token) => token.text)
            .join(''),
        ).toBe(visibleText(line))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('the style at a line is the same after reading from the start and after asking for it (W057)', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const lines = text.split('\n')
      let style = ''
      for (const [index, line] of lines.entries()) {
        expect(attributesOf(style)).toEqual(attributesOf(colorsAfter(lines.slice(0, index).join('\n'))))
        style = tokenizeLine(line, style).style
      }
    }),
    { numRuns: 2_000 },
  )
})

test('5,000 updates by carriage return are one line with the last state (W059)', () => {
  const line = Array.from({ length: 5_000 }, (_, n) => `\r${ESC}[32m${n + 1} of 5000${ESC}[K`).join('')
  expect(tokenizeLine(line)).toMatchObject({ tokens: [{ text: '5000 of 5000', style: '32' }], updates: 4_999 })
})

test('a line of 10 MB shows 16 kB and says how much is left out (W059)', () => {
  const reader = new LineReader()
  const part = new Uint8Array(1_000_000).fill(120)
  for (let n = 0; n < 10; n += 1) expect(reader.push(part)).toEqual([])
  expect(reader.rest.cut).toBe(10_000_000 - LONGEST_LINE_BYTES)
  const lines = reader.push(new TextEncoder().encode('\nnext'))
  expect(lines).toMatchObject([{ cut: 10_000_000 - LONGEST_LINE_BYTES }])
  expect(lines[0]?.text).toHaveLength(LONGEST_LINE_BYTES)
  expect(reader.rest).toEqual({ text: 'next', cut: 0 })
})

test('a cut never divides a character', () => {
  for (const before of [0, 1, 2, 3]) {
    const reader = new LineReader()
    const bytes = new TextEncoder().encode('x'.repeat(before) + '😀'.repeat(5_000))
    const [line] = reader.push(new Uint8Array([...bytes, 10]))
    expect(line?.text).not.toContain('\uFFFD')
    expect(new TextEncoder().encode(line?.text).length + (line?.cut ?? 0)).toBe(bytes.length)
  }
})

test.each([
  '\r',
  ESC,
  `${ESC}[31m`,
  `${ESC}[`,
  `${ESC}]8;;x${ESC}\\a`,
  'https://',
  '\u202E',
  'https://a.test).',
  `${ESC}[1;`,
  'a\b',
])('takes linear time for many %j', (piece) => {
  expect(growth(10_000, (n) => void tokenizeLine(`${piece.repeat(n)}é`))).toBeLessThan(LINEAR)
})

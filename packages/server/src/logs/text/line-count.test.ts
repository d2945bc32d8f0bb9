import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StreamRow } from '../../store/schema/schema.ts'
import { countChunk, totalLines } from './line-count.ts'
import { LineBlock } from './line-block.ts'
import { countNewlines } from './newlines.ts'
import { wholeLines } from './whole-lines.ts'

const EMPTY: StreamRow = {
  build_id: 'b',
  attempt: 1,
  stream: 'system',
  bytes: 0,
  counted: 0,
  lines: 0,
  line_start: 0,
  first_at: null,
  last_at: null,
}

const text = fc
  .array(fc.constantFrom('a', 'line', '\n', '\r\n', '\r', 'ä', '😀', '\n\n', '\u0000', '\u2028'), { maxLength: 60 })
  .map((parts) => parts.join(''))
const bytes = fc.oneof(
  text.map((one) => Buffer.from(one)),
  fc.uint8Array({ maxLength: 200 }).map((one) => Buffer.from(one)),
)
const cuts = fc.array(fc.nat({ max: 30 }), { maxLength: 40 })

/** Splits bytes into chunks of these sizes, which may cut characters and line ends. */
function split(whole: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = []
  let at = 0
  for (const size of sizes) {
    if (size > 0 && at < whole.length) chunks.push(whole.subarray(at, at + size))
    at += size
  }
  return at < whole.length ? [...chunks, whole.subarray(at)] : chunks
}

function linesOf(whole: Buffer): string[] {
  const lines = whole.toString('latin1').split(/(?<=\n)/)
  return lines[0] === '' ? [] : lines
}

test('counts the same lines however the output is cut into chunks', () => {
  fc.assert(
    fc.property(bytes, cuts, (whole, sizes) => {
      let row = EMPTY
      for (const chunk of split(whole, sizes)) row = countChunk(row, chunk, countNewlines(chunk))
      expect(row.counted).toBe(whole.length)
      expect(row.lines).toBe(whole.toString('latin1').split('\n').length - 1)
      expect(row.line_start).toBe(whole.lastIndexOf(10) + 1)
      expect(totalLines(row)).toBe(linesOf(whole).length)
    }),
    { numRuns: 2_000 },
  )
})

test('counts line feeds at every offset and length of a buffer', () => {
  const whole = Buffer.from('\n\n\nabc\n\u008a\n\njk\n\n\n\n\nx'.repeat(3), 'latin1')
  for (let from = 0; from < whole.length; from += 1)
    for (let to = from; to <= whole.length; to += 1) {
      const part = whole.subarray(from, to)
      expect(countNewlines(part)).toBe(part.toString('latin1').split('\n').length - 1)
    }
})

test('a block has the lines of its pieces, with the rest of long lines left out', () => {
  fc.assert(
    fc.property(
      bytes,
      cuts,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 4, max: 40 }),
      (whole, sizes, maxLines, maxLineBytes) => {
        const block = new LineBlock({ start: 100, maxLines, maxBytes: 1_000_000, maxLineBytes })
        for (const piece of split(whole, sizes))
          for (const part of piece.toString('latin1').split(/(?<=\n)/)) if (!block.isFull) block.add(Buffer.from(part, 'latin1'))
        block.end()
        const lines = linesOf(whole).slice(0, maxLines)
        expect(block.lines).toBe(lines.length)
        expect(block.endByte).toBe(100 + lines.join('').length)
        expect(block.starts).toEqual(lines.map((_, index) => 100 + lines.slice(0, index).join('').length))
        expect(block.endsLine).toBe(lines.at(-1)?.endsWith('\n') ?? true)
        const cut = new Map(block.cut)
        const kept = lines.map((line, index) => line.replace(/\n$/, '').length - (cut.get(index) ?? 0))
        for (const [index, length] of kept.entries()) {
          expect(length).toBeLessThanOrEqual(maxLineBytes)
          if (cut.has(index)) expect(length).toBeGreaterThan(maxLineBytes - 4)
        }
        if (cut.size === 0) expect(block.text).toBe(Buffer.from(lines.join(''), 'latin1').toString())
      },
    ),
    { numRuns: 2_000 },
  )
})

test('a block ends before the line that would make it too large, but has at least one', () => {
  const block = new LineBlock({ start: 0, maxLines: 10, maxBytes: 10, maxLineBytes: 100 })
  for (const line of ['0123456789012\n', 'next\n']) if (!block.isFull) block.add(Buffer.from(line))
  expect([block.lines, block.isFull, block.endByte, block.text]).toEqual([1, true, 14, '0123456789012\n'])
})

test('a long line is cut between characters', () => {
  const block = new LineBlock({ start: 0, maxLines: 10, maxBytes: 100, maxLineBytes: 6 })
  block.add(Buffer.from('ab😀😀\n'))
  expect([block.text, block.cut]).toEqual(['ab😀\n', [[0, 4]]])
})

test('blocks of whole lines join to the output, and end with a line or within a very long one', async () => {
  const lines = Array.from({ length: 4_000 }, (_, n) => `${n} ä😀`.padEnd(n % 120, '.'))
  for (const whole of [lines.join('\n'), `${'😀'.repeat(200_000)}\n${lines.join('\n')}`, '']) {
    const input = Buffer.from(whole)
    const pieces = async function* (): AsyncGenerator<Buffer> {
      for (let at = 0; at < input.length; at += 7_001) yield input.subarray(at, at + 7_001)
    }
    const blocks = await Array.fromAsync(wholeLines(pieces()))
    expect(blocks.map(String).join('')).toBe(whole)
    for (const block of blocks.slice(0, -1)) expect(block.at(-1) === 10 || block.length >= 262_000).toBe(true)
  }
})

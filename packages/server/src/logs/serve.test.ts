import { expect, test } from 'vitest'
import { tailStart } from './serve.ts'

const MAX_STEP_BYTES = 262_144

/** Yields pieces in one buffer, which is overwritten by the next piece: a reader that keeps pieces reads garbage. */
function reader(bytes: Buffer) {
  const sizes: number[] = []
  const piece = Buffer.alloc(10_007)
  const read = async function* (from: number, to: number): AsyncGenerator<Buffer> {
    sizes.push(to - from)
    for (let at = from; at < to; at += piece.length) {
      const length = bytes.copy(piece, 0, at, Math.min(to, at + piece.length))
      yield piece.subarray(0, length)
    }
  }
  return { read, sizes }
}

test('finds the last lines of a log, with or without a final newline', async () => {
  const text = 'one\ntwo\nthree\n'
  for (const [lines, start] of [
    [1, 8],
    [2, 4],
    [3, 0],
    [9, 0],
  ] as const)
    expect(await tailStart(text.length, lines, reader(Buffer.from(text)).read)).toBe(start)
  expect(await tailStart(13, 1, reader(Buffer.from('one\ntwo\nthree')).read)).toBe(8)
})

test('finds the start wherever the pieces and steps of the log end', async () => {
  const lines = Array.from({ length: 40_000 }, (_, n) => `${n}`.padEnd(n % 97, '.'))
  const bytes = Buffer.from(lines.join('\n'))
  for (const count of [1, 2, 999, 12_345, 39_999, 40_000]) {
    const expected = Buffer.byteLength(lines.slice(0, -count).join('\n')) + (count < lines.length ? 1 : 0)
    expect([count, await tailStart(bytes.length, count, reader(bytes).read)]).toEqual([count, expected])
  }
  expect(await tailStart(0, 5, reader(Buffer.alloc(0)).read)).toBe(0)
  expect(await tailStart(1, 5, reader(Buffer.from('\n')).read)).toBe(0)
  expect(await tailStart(3, 2, reader(Buffer.from('\n\n\n')).read)).toBe(1)
})

test('reads a log without newlines piece by piece, never as a whole', async () => {
  const bytes = Buffer.alloc(40 * 1024 * 1024, 'x')
  const { read, sizes } = reader(bytes)
  expect(await tailStart(bytes.length, 1, read)).toBe(0)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_STEP_BYTES)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(bytes.length)
  bytes.write('start\n', 1000)
  bytes.write('end', bytes.length - 3)
  expect(await tailStart(bytes.length, 1, reader(bytes).read)).toBe(1006)
  expect(await tailStart(bytes.length, 2, reader(bytes).read)).toBe(0)
})

import { expect, test } from 'vitest'
import type { ChunkRow } from '../../store/schema/schema.ts'
import { openReadMemory, PIECE_BYTES, planFetches, readAhead, type ChunkPart, type Fetch } from './read-ahead.ts'

function partOf(object: string, start: number, bytes: number): ChunkPart {
  const chunk: ChunkRow = {
    build_id: 'b',
    position: 1,
    account_id: 'a',
    attempt: 1,
    stream: 'system',
    start: 0,
    bytes,
    at: 0,
    object,
    object_start: start,
    first_line: null,
    lines: null,
  }
  return { chunk, from: 0, bytes }
}

/** Adjacent chunks of one object. */
function chunksOf(object: string, count: number, bytes: number): ChunkPart[] {
  return Array.from({ length: count }, (_, n) => partOf(object, n * bytes, bytes))
}

/** Returns bytes that show the object and the offset. */
function bytesAt({ object, start, bytes }: Pick<Fetch, 'object' | 'start' | 'bytes'>): Buffer {
  const first = object.charCodeAt(0) + start
  return Buffer.alloc(bytes, Buffer.from(Array.from({ length: 251 }, (_, n) => (first + n) % 251)))
}

function reader(maxBytes: number) {
  const memory = openReadMemory(maxBytes)
  const fetches: Fetch[] = []
  let running = 0
  let widest = 0
  const fetch = async (wanted: Fetch): Promise<readonly Buffer[]> => {
    fetches.push(wanted)
    running += 1
    widest = Math.max(widest, running)
    await new Promise((resolve) => setTimeout(resolve, 2))
    running -= 1
    return wanted.parts.map(({ chunk, from, bytes }) =>
      bytesAt({ object: chunk.object, start: chunk.object_start + from, bytes }),
    )
  }
  return { memory, fetches, fetch, widest: () => widest, isFree: () => memory.take(maxBytes) }
}

async function read(parts: readonly ChunkPart[], reading: ReturnType<typeof reader>): Promise<Buffer[]> {
  return Array.fromAsync(readAhead(parts, reading))
}

test('fetches adjacent chunks of one object together', () => {
  const parts = [...chunksOf('m', 1000, 80), partOf('n', 0, 10), partOf('n', 20, 10)]
  const fetches = [...planFetches(parts)]
  expect(fetches.map(({ object, start, bytes }) => [object, start, bytes])).toEqual([
    ['m', 0, 80_000],
    ['n', 0, 10],
    ['n', 20, 10],
  ])
  expect(fetches[0]?.parts).toEqual(parts.slice(0, 1000))
})

test('splits large chunks into pieces and fetches a few of them together', () => {
  const fetches = [...planFetches([partOf('m', 7, 18 * PIECE_BYTES + 1)])]
  expect(fetches.map(({ start, bytes }) => [start, bytes])).toEqual([
    [7, 8 * PIECE_BYTES],
    [7 + 8 * PIECE_BYTES, 8 * PIECE_BYTES],
    [7 + 16 * PIECE_BYTES, 2 * PIECE_BYTES + 1],
  ])
  expect(Math.max(...fetches.flatMap(({ parts }) => parts.map(({ bytes }) => bytes)))).toBe(PIECE_BYTES)
})

test.each([0, PIECE_BYTES, 10 * PIECE_BYTES, 100 * PIECE_BYTES])(
  'yields all bytes in order with %i bytes of memory',
  async (max) => {
    const parts = [...chunksOf('m', 30, 1000), partOf('n', 0, 9 * PIECE_BYTES + 5), ...chunksOf('o', 5, 300_000)]
    const reading = reader(max)
    const pieces = await read(parts, reading)
    const whole = parts.map(({ chunk, bytes }) => bytesAt({ object: chunk.object, start: chunk.object_start, bytes }))
    expect(Buffer.concat(pieces).equals(Buffer.concat(whole))).toBe(true)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(PIECE_BYTES)
    expect(reading.isFree()).toBe(true)
  },
)

test('runs fetches in advance while memory is left', async () => {
  const parts = [partOf('m', 0, 20 * PIECE_BYTES)]
  const rich = reader(100 * PIECE_BYTES)
  await read(parts, rich)
  expect(rich.widest()).toBe(2)
  const poor = reader(0)
  await read(parts, poor)
  expect(poor.widest()).toBe(1)
  expect(poor.fetches.every(({ bytes }) => bytes <= PIECE_BYTES)).toBe(true)
  const lines = reader(0)
  await read(chunksOf('m', 2000, 100), lines)
  expect(lines.fetches.map(({ bytes }) => bytes)).toEqual([98_300, 98_300, 3_400])
})

test('releases its memory when the reader leaves or a fetch fails', async () => {
  const parts = [partOf('m', 0, 20 * PIECE_BYTES)]
  const left = reader(100 * PIECE_BYTES)
  for await (const _ of readAhead(parts, left)) break
  await expect.poll(left.isFree).toBe(true)
  const broken = reader(100 * PIECE_BYTES)
  const failing = readAhead(parts, {
    ...broken,
    fetch: async (wanted) => {
      if (wanted.start > 0) throw new Error('the store is away')
      return broken.fetch(wanted)
    },
  })
  await expect(Array.fromAsync(failing)).rejects.toThrow('the store is away')
  await expect.poll(broken.isFree).toBe(true)
})

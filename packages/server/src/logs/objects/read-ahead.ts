/**
 * Reading of many chunks in order. Chunks that are adjacent in one object are fetched together, and the next fetch runs while a piece is written to
 * the reader, because each call to a remote store takes tens of milliseconds.
 */
import type { ChunkRow } from '../../store/schema/schema.ts'

/** Part of a chunk. */
export interface ChunkPart {
  readonly chunk: ChunkRow
  /** First byte, counted from the start of the chunk. */
  readonly from: number
  readonly bytes: number
}

/** One range of an object, with the parts of chunks that it consists of. */
export interface Fetch {
  readonly object: string
  readonly start: number
  readonly bytes: number
  readonly parts: readonly ChunkPart[]
}

/** Maximum size of a piece, and bytes that a slow reader keeps in memory. A multiple of three, so that pieces in base64 can be concatenated. */
export const PIECE_BYTES = 98_304
/** Maximum size of a fetch. Most frames are smaller, so one call reads a frame. */
const FETCH_BYTES = 8 * PIECE_BYTES
/** Number of fetches that run in advance. */
const AHEAD = 1

/** Splits the parts into pieces and groups pieces that are adjacent in one object. Reads the parts as late as possible. */
export function* planFetches(parts: Iterable<ChunkPart>): Generator<Fetch, undefined> {
  let held: ChunkPart[] = []
  let [start, bytes] = [0, 0]
  const take = (): Fetch => ({ object: held[0]?.chunk.object ?? '', start, bytes, parts: held })
  for (const piece of pieces(parts)) {
    const at = piece.chunk.object_start + piece.from
    const isNext = held[0]?.chunk.object === piece.chunk.object && at === start + bytes && bytes + piece.bytes <= FETCH_BYTES
    if (!isNext) {
      if (held.length > 0) yield take()
      held = []
      ;[start, bytes] = [at, 0]
    }
    held.push(piece)
    bytes += piece.bytes
  }
  if (held.length > 0) yield take()
}

function* pieces(parts: Iterable<ChunkPart>): Generator<ChunkPart> {
  for (const { chunk, from, bytes } of parts)
    for (let at = 0; at < bytes; at += PIECE_BYTES) yield { chunk, from: from + at, bytes: Math.min(PIECE_BYTES, bytes - at) }
}

/** Memory that all readers of a server share for what they fetch in advance. */
export interface ReadMemory {
  /** Reserves memory. Returns false if too little is left. */
  take(bytes: number): boolean
  release(bytes: number): void
}

export function openReadMemory(maxBytes: number): ReadMemory {
  let used = 0
  return {
    take(bytes) {
      if (used + bytes > maxBytes) return false
      used += bytes
      return true
    },
    release: (bytes) => void (used -= bytes),
  }
}

export interface Reading {
  /** Fetches a range. Returns the bytes of each part. */
  readonly fetch: (fetch: Fetch) => Promise<readonly Buffer[]>
  readonly memory: ReadMemory
}

interface Pending {
  readonly bytes: number
  readonly result: Promise<readonly Buffer[]>
}

/**
 * Yields the bytes of the parts in order, one piece of at most `PIECE_BYTES` at a time. Fetches in advance while memory is left. Otherwise it fetches
 * at most `PIECE_BYTES` when the reader asks for them.
 */
export async function* readAhead(parts: Iterable<ChunkPart>, { fetch, memory }: Reading): AsyncGenerator<Buffer> {
  const plan = planFetches(parts)
  const pending: Pending[] = []
  let next = plan.next().value

  const begin = (wanted: Fetch, bytes: number): void => {
    const result = fetch(wanted)
    // Awaited later, or never if the reader disconnects.
    result.catch(() => undefined)
    pending.push({ bytes, result })
  }
  const fill = (): void => {
    for (; next !== undefined && pending.length <= AHEAD; next = plan.next().value) {
      if (!memory.take(next.bytes)) break
      begin(next, next.bytes)
    }
    if (next === undefined || pending.length > 0) return
    const [first, rest] = splitFirst(next)
    begin(first, 0)
    next = rest ?? plan.next().value
  }

  try {
    for (fill(); pending.length > 0; fill()) {
      const [current] = pending
      for (const piece of (await current?.result) ?? []) yield piece
      pending.shift()
      memory.release(current?.bytes ?? 0)
    }
  } finally {
    for (const { bytes, result } of pending) void result.catch(() => undefined).then(() => memory.release(bytes))
  }
}

/** Splits a fetch after its first parts, which together are at most `PIECE_BYTES`. */
function splitFirst(whole: Fetch): [Fetch, Fetch | undefined] {
  const { object, start, bytes, parts } = whole
  let taken = 0
  const over = parts.findIndex((part) => (taken += part.bytes) > PIECE_BYTES)
  if (over < 0) return [whole, undefined]
  const first = parts.slice(0, over)
  const length = first.reduce((sum, part) => sum + part.bytes, 0)
  return [
    { object, start, bytes: length, parts: first },
    { object, start: start + length, bytes: bytes - length, parts: parts.slice(over) },
  ]
}

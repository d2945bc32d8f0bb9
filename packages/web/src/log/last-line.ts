/** The last line of a stream, where following begins. */
import { isFault } from '@windlass/kit/faults'
import type { LogLines } from '@windlass/protocol'
import type { LoadLines } from './lines/source.ts'

/** Returns true if the stream does not exist. A step that has begun has none before its first output. */
export function isMissing(error: unknown): boolean {
  return isFault(error, 'not-found')
}

/** Reads the last line. A stream that does not exist yet has none. */
export async function loadLastLine(
  load: LoadLines,
  { attempt, stream }: { readonly attempt: number; readonly stream: string },
  signal: AbortSignal,
): Promise<LogLines> {
  try {
    return await load({ from: -1, count: 1 }, signal)
  } catch (error) {
    if (!isMissing(error)) throw error
    const empty = { lines: 0, total: 0, complete: false, startByte: 0, bytes: 0, sgr: '', times: [], cut: [], text: '' }
    return { attempt, stream, from: 0, ...empty }
  }
}

/** `read-logs`: writes the log of the job from an offset, and follows it to its last frame. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { once } from 'node:events'
import type { Clock } from '@windlass/kit'
import { FILES } from './shell-loop.ts'

export interface ReadLogOptions {
  readonly exchangeFolder: string
  /** Number of bytes that the reader has. */
  readonly offset: number
  readonly output: Writable
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** How often the file is looked at. Milliseconds. */
const LOOK_MS = 20
const BUFFER_BYTES = 256 * 1024

/** Copies the log to the output until the signal is aborted: the reader knows which frame is the last. */
export async function followLog({ exchangeFolder, offset, output, clock, signal }: ReadLogOptions): Promise<void> {
  const path = join(exchangeFolder, FILES.log)
  while (!existsSync(path)) await clock.sleep(LOOK_MS, signal)
  const file = openSync(path, 'r')
  try {
    for (let at = offset; !signal.aborted;) {
      const buffer = Buffer.allocUnsafe(BUFFER_BYTES)
      const length = readSync(file, buffer, 0, buffer.length, at)
      at += length
      if (length === 0) await clock.sleep(LOOK_MS, signal)
      else if (!output.write(buffer.subarray(0, length))) await once(output, 'drain', { signal })
    }
  } finally {
    closeSync(file)
  }
}

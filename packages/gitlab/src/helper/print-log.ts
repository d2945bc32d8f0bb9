/** Copies the log of a job to a stream while the job runs. The stream decides how fast: what it does not take waits in the file. */
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import type { Writable } from 'node:stream'
import type { Clock } from '@windlass/kit'

export interface PrintLogOptions {
  readonly path: string
  readonly output: Writable
  readonly clock: Clock
  /** Aborted when the log is complete. */
  readonly ended: AbortSignal
}

/** How often the log is looked at. Milliseconds. */
const LOOK_MS = 20

/** Resolves when the stream has taken all of the log. */
export async function printLog({ path, output, clock, ended }: PrintLogOptions): Promise<void> {
  while (!existsSync(path)) {
    if (ended.aborted) return
    await clock.sleep(LOOK_MS)
  }
  const file = openSync(path, 'r')
  const buffer = Buffer.alloc(64 * 1024)
  try {
    for (let offset = 0; ;) {
      // Before the read, because the log can become complete after it.
      const isLast = ended.aborted
      const length = readSync(file, buffer, 0, buffer.length, offset)
      offset += length
      if (length > 0 && !output.write(Buffer.from(buffer.subarray(0, length)))) await once(output, 'drain')
      if (length > 0) continue
      if (isLast) return
      await clock.sleep(LOOK_MS)
    }
  } finally {
    closeSync(file)
  }
}

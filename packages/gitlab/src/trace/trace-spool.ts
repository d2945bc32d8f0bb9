/**
 * The trace of one job on disk, so that any part can be sent again. The file has no name once it is open: it is gone when the process ends. If the disk
 * is full, later bytes stay in memory, which the output limit of the job bounds.
 */
import { randomUUID } from 'node:crypto'
import { close, openSync, read, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Logger } from '@windlass/kit'

export interface TraceSpool {
  /** Number of bytes. */
  readonly size: number
  /** CRC-32 (IEEE) of all bytes. */
  readonly checksum: number
  append(bytes: Uint8Array): void
  /** Returns at most `length` bytes from a position; fewer at the end. */
  read(offset: number, length: number): Promise<Buffer>
  close(): Promise<void>
}

const readFile = promisify(read)
const closeFile = promisify(close)

/** Smallest memory for what the disk does not take. Bytes. */
const MIN_MEMORY = 65_536

/** Opens an empty spool in a folder. Throws if the folder does not allow files. */
export function openTraceSpool(folder: string, log: Logger): TraceSpool {
  const path = join(folder, `trace-${randomUUID()}`)
  const file = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return spoolOf(file, log)
}

/** Returns the spool of an empty file, which it closes. */
export function spoolOf(file: number, log: Logger): TraceSpool {
  let onDisk = 0
  /** Bytes that the disk did not take: the first `used` ones. */
  let memory = Buffer.alloc(0)
  let used = 0
  let checksum = 0
  let isClosed = false
  let reading: Promise<unknown> = Promise.resolve()

  /** Writes as much as the disk takes, and returns the rest. */
  function write(bytes: Uint8Array): Uint8Array {
    let rest = bytes
    try {
      while (rest.length > 0) {
        const written = writeSync(file, rest, 0, rest.length, onDisk)
        onDisk += written
        rest = rest.subarray(written)
      }
    } catch (error) {
      log.error({ err: error }, 'the disk takes no more of the trace; the rest stays in memory')
    }
    return rest
  }

  /** Keeps bytes in memory, which grows by doubling. */
  function keep(bytes: Uint8Array): void {
    if (used + bytes.length > memory.length) {
      const larger = Buffer.alloc(Math.max(MIN_MEMORY, 2 * (used + bytes.length)))
      memory.copy(larger, 0, 0, used)
      memory = larger
    }
    memory.set(bytes, used)
    used += bytes.length
  }

  async function readAt(offset: number, length: number): Promise<Buffer> {
    const inFile = Math.max(0, Math.min(length, onDisk - offset))
    const parts: Buffer[] = []
    for (let got = 0; got < inFile;) {
      const part = Buffer.alloc(inFile - got)
      const { bytesRead } = await readFile(file, part, 0, part.length, offset + got)
      if (bytesRead === 0) throw new Error(`the spool of the trace ends at byte ${offset + got}`)
      parts.push(part.subarray(0, bytesRead))
      got += bytesRead
    }
    const start = Math.max(0, offset - onDisk)
    if (start < used && inFile < length) parts.push(Buffer.from(memory.subarray(start, Math.min(used, start + length - inFile))))
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }

  return {
    get size() {
      return onDisk + used
    },
    get checksum() {
      return checksum
    },
    append(bytes) {
      // The number of a closed file may belong to another file by now.
      if (isClosed) throw new Error('the spool of the trace is closed')
      checksum = crc32(bytes, checksum)
      const rest = used > 0 ? bytes : write(bytes)
      if (rest.length > 0) keep(rest)
    },
    read(offset, length) {
      const result = readAt(offset, length)
      reading = result.catch(() => undefined)
      return result
    },
    async close() {
      if (isClosed) return
      isClosed = true
      await reading
      await closeFile(file)
    },
  }
}

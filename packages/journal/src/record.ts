/**
 * Records in a file: length, CRC-32 and time before each payload. The length or the CRC reveals a record that a crash truncated. Payloads are defined
 * in `event-log.ts` and `stream-spool.ts`.
 */
import { ftruncateSync, writevSync } from 'node:fs'
import { fault, hasCode } from '@windlass/kit'
import { crc32 } from 'node:zlib'

/** u32 length of the payload, u32 CRC-32 of the payload, f64 epoch milliseconds; big-endian. */
export const HEADER_BYTES = 16

export interface RecordHead {
  readonly length: number
  readonly crc: number
  readonly at: number
}

/** Returns the header of a record whose payload is the concatenation of the parts. */
export function toHeader(parts: readonly Uint8Array[], at: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  let length = 0
  let crc = 0
  for (const part of parts) {
    length += part.byteLength
    crc = crc32(part, crc)
  }
  header.writeUInt32BE(length, 0)
  header.writeUInt32BE(crc, 4)
  header.writeDoubleBE(at, 8)
  return header
}

/** Returns the header at `position`, or undefined if the buffer ends within it. */
export function readHeader(buffer: Buffer, position: number): RecordHead | undefined {
  if (position + HEADER_BYTES > buffer.length) return undefined
  return { length: buffer.readUInt32BE(position), crc: buffer.readUInt32BE(position + 4), at: buffer.readDoubleBE(position + 8) }
}

export interface ScannedRecord {
  readonly at: number
  readonly payload: Buffer
  /** Position after the record. */
  readonly end: number
}

/** Yields every complete record from the start of a buffer. Stops at the first incomplete or damaged one. */
export function* scanRecords(buffer: Buffer): Generator<ScannedRecord> {
  let position = 0
  for (;;) {
    const head = readHeader(buffer, position)
    if (head === undefined) return
    const end = position + HEADER_BYTES + head.length
    if (head.length === 0 || end > buffer.length) return
    const payload = buffer.subarray(position + HEADER_BYTES, end)
    if (crc32(payload) !== head.crc) return
    yield { at: head.at, payload, end }
    position = end
  }
}

/**
 * Appends one record to a file of `end` bytes. Returns its new length. A full disk accepts part of a write without an error; that part is truncated
 * again. Throws `spool-full`.
 */
export function appendRecord(fd: number, end: number, record: { readonly payload: Buffer; readonly at: number }): number {
  const parts = [toHeader([record.payload], record.at), record.payload]
  const wanted = HEADER_BYTES + record.payload.length
  let written = 0
  try {
    written = writevSync(fd, parts)
  } catch (error) {
    throw isNoSpace(error) ? fault('spool-full', {}, error) : error
  }
  if (written === wanted) return end + wanted
  ftruncateSync(fd, end)
  throw fault('spool-full')
}

/** Returns true for the error of a full disk or an exceeded quota. */
export function isNoSpace(error: unknown): boolean {
  return hasCode(error, 'ENOSPC', 'EDQUOT')
}

/** Files in one gzip stream: a member for each, with its path in the header, as GitLab reads reports. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { crc32, deflateRawSync } from 'node:zlib'

const FLAG_NAME = 0x08

/** Returns the members, one after the other. */
export function gzipStream(folder: string, paths: readonly string[], level: number): Readable {
  return Readable.from(members(folder, paths, level))
}

function* members(folder: string, paths: readonly string[], level: number): Generator<Buffer> {
  for (const path of paths) {
    const content = readFileSync(join(folder, path))
    const head = Buffer.from([0x1f, 0x8b, 8, FLAG_NAME, 0, 0, 0, 0, 0, 3])
    const tail = Buffer.alloc(8)
    tail.writeUInt32LE(crc32(content), 0)
    tail.writeUInt32LE(content.length % 2 ** 32, 4)
    yield Buffer.concat([head, Buffer.from(`${path}\0`, 'latin1'), deflateRawSync(content, { level }), tail])
  }
}

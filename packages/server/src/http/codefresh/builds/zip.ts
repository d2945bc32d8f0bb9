/** ZIP archives of a few small files without compression (APPNOTE.TXT 4.3: local headers, central directory, end record). */
import { crc32 } from 'node:zlib'

interface Entry {
  readonly name: string
  readonly text: string
}

const VERSION = 20
/** The earliest date of the format. A fixed date makes archives of the same files identical. */
const DATE = 0x0021
const UTF8_NAMES = 0x0800

/** Returns the bytes of the archive. */
export function zip(entries: readonly Entry[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, text } of entries) {
    const content = Buffer.from(text)
    const path = Buffer.from(name)
    const common = commonHeader(path, content)
    const local = Buffer.concat([signature(0x04034b50), common, path, content])
    const place = Buffer.alloc(14)
    place.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([signature(0x02014b50), short(VERSION), common, place, path]))
    locals.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.concat([signature(0x06054b50), short(0), short(0), short(entries.length), short(entries.length)])
  return Buffer.concat([...locals, central, end, long(central.length), long(offset), short(0)])
}

/** Returns the fields that are the same in both headers: "version needed" up to the length of the extra field. */
function commonHeader(path: Buffer, content: Buffer): Buffer {
  return Buffer.concat([
    short(VERSION),
    short(UTF8_NAMES),
    short(0),
    short(0),
    short(DATE),
    long(crc32(content)),
    long(content.length),
    long(content.length),
    short(path.length),
    short(0),
  ])
}

function signature(value: number): Buffer {
  return long(value)
}

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16LE(value)
  return bytes
}

function long(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

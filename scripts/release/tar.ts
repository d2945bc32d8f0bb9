/** Tar archives whose bytes depend only on names, modes, owners and contents. */
import { closeSync, createReadStream, createWriteStream, mkdirSync, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { extract, pack, type Header, type Pack } from 'tar-stream'

/** Time of all entries. npm gives it to the files of all packages. */
const ENTRY_TIME = new Date('1985-10-26T08:15:00Z')

export interface Entry {
  readonly header: Pick<Header, 'name' | 'type'> & Partial<Header>
  /** Content of a file. */
  readonly read?: () => Buffer
}

/** The content of a file follows its header. `offset` of tar-stream is that of the header. */
const HEADER_BYTES = 512

/** A part of a file: a tar archive within another one. */
export interface Range {
  readonly path: string
  readonly start: number
  readonly size: number
}

/** Lists the entries of an archive. Their contents are read when they are needed, so the file must remain. */
export async function listEntries(archive: Range): Promise<(Entry & { readonly range: Range })[]> {
  const found: (Entry & { readonly range: Range })[] = []
  const { path, start, size } = archive
  const reader = extract()
  const source = createReadStream(path, { start, end: start + size - 1 })
  source.on('error', (error) => reader.destroy(error))
  source.pipe(reader as unknown as NodeJS.WritableStream)
  for await (const entry of reader) {
    const { header, offset } = entry
    entry.resume()
    const range = { path, start: start + offset + HEADER_BYTES, size: header.size }
    found.push({ header, range, ...(header.type === 'file' && { read: () => readRange(range) }) })
  }
  return found
}

/** Reads a part of a file. Throws if the file is shorter. */
export function readRange({ path, start, size }: Range): Buffer {
  const content = Buffer.alloc(size)
  const file = openSync(path, 'r')
  try {
    for (let done = 0; done < size;) {
      const count = readSync(file, content, done, size - done, start + done)
      if (count === 0) throw new Error(`${path} ends before byte ${start + size}`)
      done += count
    }
  } finally {
    closeSync(file)
  }
  return content
}

/** Returns a file entry with the permissions of npm packages. */
export function fileEntry(name: string, content: Buffer | string, mode = 0o644): Entry {
  const bytes = Buffer.from(content)
  return { header: { name, type: 'file', mode }, read: () => bytes }
}

/** Returns the archive of the entries, in their order. */
export function writeTar(entries: Iterable<Entry>): Readable {
  const archive = pack()
  void fill(archive, entries).catch((error: unknown) =>
    archive.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  return Readable.from(archive, { objectMode: false })
}

async function fill(archive: Pack, entries: Iterable<Entry>): Promise<void> {
  for (const { header, read } of entries) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    archive.entry(toHeader(header), read?.() ?? Buffer.alloc(0), (error) => (error ? reject(error) : resolve()))
    await promise
  }
  archive.finalize()
}

/** Keeps what a file is, and drops when, by whom and where it was made. */
function toHeader({ name, type, mode, uid, gid, linkname, devmajor, devminor, pax }: Entry['header']): Header {
  const attributes = Object.entries((pax ?? {}) as Record<string, string>).filter(([key]) => key.startsWith('SCHILY.xattr.'))
  // The reader decodes attributes as text, which loses bytes that are not UTF-8.
  if (attributes.some(([, value]) => value.includes('\uFFFD'))) throw new Error(`${name} has an attribute that cannot be copied`)
  return {
    name,
    type,
    mode: mode ?? (type === 'directory' ? 0o755 : 0o644),
    uid: uid ?? 0,
    gid: gid ?? 0,
    uname: '',
    gname: '',
    linkname: linkname ?? '',
    size: 0,
    devmajor: devmajor ?? 0,
    devminor: devminor ?? 0,
    mtime: ENTRY_TIME,
    ...(attributes.length > 0 && { pax: Object.fromEntries(attributes.toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
  }
}

/** Writes a compressed archive to a file, with its folder. */
export async function writeArchive(path: string, entries: readonly Entry[]): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  await pipeline(writeTar(entries), createGzip({ level: 9 }), createWriteStream(path))
}

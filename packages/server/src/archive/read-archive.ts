/** Reads an archive and checks all of it: order, names, digests, and that it is complete. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { hasCode, fault } from '@windlass/kit'
import { z } from 'zod'
import { isObjectKey } from '../logs/objects/object-keys.ts'
import {
  ArchiveHeader,
  ArchiveTrailer,
  ARCHIVE_VERSION,
  EntryDigest,
  HEADER,
  invalidArchive,
  KEYS,
  RowDigest,
  TRAILER,
  type Value,
} from './format.ts'
import { SealedKeys } from './sealed-keys.ts'

/** Takes the parts of an archive in their order. */
export interface ArchiveVisitor {
  header?(header: ArchiveHeader): Promise<void>
  /** Takes some rows of a table: values in the order of its columns. */
  rows?(table: string, rows: readonly (readonly Value[])[]): Promise<void>
  /** Takes a log object. It must read the content to its end. */
  object?(key: string, bytes: number, content: AsyncIterable<Buffer>): Promise<void>
}

export interface ReadArchive {
  readonly header: ArchiveHeader
  readonly keys: SealedKeys | undefined
  readonly trailer: ArchiveTrailer
}

/** Maximum bytes of an entry that is read as a whole. */
const MAX_TEXT_BYTES = 67_108_864

/**
 * Reads an archive from a file, which may be compressed with gzip. The visitor gets parts before the end of the archive is known, so that an incomplete or
 * changed archive is only found afterwards: read it without a visitor first. Throws `file-not-found`, and `archive-invalid` that says what is wrong.
 */
export async function readArchive(file: string, visitor: ArchiveVisitor = {}): Promise<ReadArchive> {
  const reader = new Reader(visitor)
  const entries = extract()
  const input = createReadStream(file)
  const streams = (await isCompressed(file)) ? [input, createGunzip(), entries] : [input, entries]
  const fed = pipeline(streams)
  fed.catch(() => undefined)
  try {
    for await (const entry of entries)
      await reader.take(String(entry.header.name), entry.header.size, entry as AsyncIterable<Buffer>)
    await fed
  } catch (error) {
    input.destroy()
    throw toInvalid(error)
  }
  return reader.result()
}

const GZIP = Buffer.from([0x1f, 0x8b])

async function isCompressed(file: string): Promise<boolean> {
  const handle = await open(file).catch((error: unknown) => {
    throw fault('file-not-found', { message: `The archive ${file} cannot be read.` }, error)
  })
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer.equals(GZIP)
  } finally {
    await handle.close()
  }
}

/** Errors of the tar and gzip formats have a message and no fault. */
function toInvalid(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'Fault') return error
  if (hasCode(error, 'EACCES', 'EIO', 'EISDIR')) return error
  const isFormat = /^(Unexpected end|Invalid tar|unexpected end of file|incorrect|invalid|Premature close)/i.test(error.message)
  return isFormat ? invalidArchive(`The archive is incomplete or was changed: ${error.message}.`) : error
}

class Reader {
  readonly #visitor: ArchiveVisitor
  readonly #digest = new EntryDigest()
  readonly #tables = new Map<string, { readonly digest: RowDigest; readonly columns: number }>()
  readonly #objects = { objects: 0, bytes: 0 }
  #header: ArchiveHeader | undefined
  #keys: SealedKeys | undefined
  #trailer: ArchiveTrailer | undefined

  constructor(visitor: ArchiveVisitor) {
    this.#visitor = visitor
  }

  async take(name: string, bytes: number, content: AsyncIterable<Buffer>): Promise<void> {
    if (this.#trailer !== undefined) throw invalidArchive(`The archive has the entry ${name} after its end.`)
    if (name === TRAILER) return this.#readTrailer(bytes, content)
    this.#digest.begin(name, bytes)
    if (name === HEADER) return this.#readHeader(bytes, content)
    const header = this.#header
    if (header === undefined) throw invalidArchive(`The file does not begin with ${HEADER}, so it is not an archive of Windlass.`)
    if (name === KEYS) {
      this.#keys = parse(SealedKeys, name, await this.#text(name, bytes, content))
      return
    }
    const [folder, ...rest] = name.split('/')
    const key = rest.join('/')
    if (folder === 'tables') return this.#readRows(name, rest[0] ?? '', await this.#text(name, bytes, content))
    if (folder !== 'logs' || !isObjectKey(key))
      throw invalidArchive(`The archive has an unknown entry ${JSON.stringify(name.slice(0, 200))}.`)
    this.#objects.objects += 1
    this.#objects.bytes += bytes
    const pieces = this.#pieces(content)
    if (this.#visitor.object === undefined) for await (const piece of pieces) void piece
    else await this.#visitor.object(key, bytes, pieces)
  }

  result(): ReadArchive {
    if (this.#header === undefined || this.#trailer === undefined)
      throw invalidArchive(`The archive has no ${this.#header === undefined ? HEADER : TRAILER}, so it is incomplete.`)
    return { header: this.#header, keys: this.#keys, trailer: this.#trailer }
  }

  async #readHeader(bytes: number, content: AsyncIterable<Buffer>): Promise<void> {
    const value = await this.#text(HEADER, bytes, content)
    const version = z.looseObject({ version: z.int() }).safeParse(parseJson(HEADER, value)).data?.version
    if (version !== undefined && version > ARCHIVE_VERSION)
      throw invalidArchive(
        `The archive has the newer format ${version}.`,
        'Use the version of Windlass that wrote it, or a later one.',
      )
    const header = parse(ArchiveHeader, HEADER, value)
    for (const { name, columns } of header.tables) this.#tables.set(name, { digest: new RowDigest(), columns: columns.length })
    this.#header = header
    await this.#visitor.header?.(header)
  }

  async #readRows(entry: string, table: string, text: string): Promise<void> {
    const known = this.#tables.get(table)
    if (known === undefined)
      throw invalidArchive(`The archive has rows of an unknown table in ${JSON.stringify(entry.slice(0, 200))}.`)
    const rows: Value[][] = []
    for (const line of text.split('\n')) {
      if (line === '') continue
      known.digest.add(line)
      const row = Row.safeParse(parseJson(entry, line)).data
      if (row?.length !== known.columns) throw invalidArchive(`A row in ${entry} does not have the columns of its table.`)
      rows.push(row)
    }
    await this.#visitor.rows?.(table, rows)
  }

  async #readTrailer(bytes: number, content: AsyncIterable<Buffer>): Promise<void> {
    const read = this.#digest.finish()
    const trailer = parse(ArchiveTrailer, TRAILER, await textOf(TRAILER, bytes, content))
    if (trailer.entries !== read.entries || trailer.sha256 !== read.sha256)
      throw invalidArchive('The content of the archive does not have its checksum.')
    for (const [name, { digest }] of this.#tables) {
      const { rows, digest: sum } = digest.result
      const expected = trailer.tables[name]
      if (expected?.rows !== rows || expected.digest !== sum)
        throw invalidArchive(`The archive has ${rows} rows of the table ${name}, and should have ${expected?.rows ?? 0}.`)
    }
    const { objects, bytes: size } = trailer.logs
    if (objects !== this.#objects.objects || size !== this.#objects.bytes)
      throw invalidArchive(`The archive has ${this.#objects.objects} log objects, and should have ${objects}.`)
    this.#trailer = trailer
  }

  async *#pieces(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of content) {
      this.#digest.update(piece)
      yield piece
    }
  }

  #text(name: string, bytes: number, content: AsyncIterable<Buffer>): Promise<string> {
    return textOf(name, bytes, this.#pieces(content))
  }
}

const Row = z.array(z.union([z.string(), z.number(), z.null()]))

async function textOf(name: string, bytes: number, content: AsyncIterable<Buffer>): Promise<string> {
  if (bytes > MAX_TEXT_BYTES) throw invalidArchive(`The entry ${name} of the archive is too large.`)
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw fault('archive-invalid', { message: `${name} in the archive is not JSON.` }, error)
  }
}

function parse<S extends z.ZodType>(schema: S, name: string, text: string): z.output<S> {
  const parsed = schema.safeParse(parseJson(name, text))
  if (parsed.success) return parsed.data
  throw invalidArchive(`${name} in the archive is not valid: ${parsed.error.issues[0]?.message ?? ''}.`)
}

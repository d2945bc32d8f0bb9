/** Writes an archive: all rows of one moment, then the log objects to which they refer. */
import { fault, type Clock } from '@windlass/kit'
import { VERSION } from '@windlass/plan'
import { sql } from 'kysely'
import { pack, type Pack } from 'tar-stream'
import type { Objects } from '../logs/objects/objects.ts'
import { findMeta } from '../store/account/meta.ts'
import type { Snapshot } from '../store/database/snapshot.ts'
import { appliedMigrations } from '../store/migrate.ts'
import type { Store } from '../store/store.ts'
import { CURRENT_KEY } from '../secrets/vault.ts'
import { LOG_STORAGE } from '../logs/objects/storage-mark.ts'
import {
  ARCHIVE_VERSION,
  EntryDigest,
  HEADER,
  KEYS,
  RowDigest,
  toLine,
  TRAILER,
  type ArchiveHeader,
  type ArchiveTable,
  type ArchiveTrailer,
} from './format.ts'
import { sealKeys } from './sealed-keys.ts'
import { requireCurrent, tablesAt } from './tables.ts'

export interface ArchiveSource {
  readonly store: Pick<Store, 'name' | 'readSnapshot'>
  readonly clock: Clock
  /** The log storage; undefined to leave out the logs. */
  readonly objects?: Objects | undefined
  /** The master keys and the passphrase that encrypts them; undefined to leave them out. */
  readonly keys?: { readonly lines: readonly string[]; readonly passphrase: string } | undefined
}

/** Takes the next bytes of an archive. Resolves when it can take more. */
export type Output = (bytes: Uint8Array) => Promise<void>

/** Size from which lines of rows become an entry. Characters. */
const ENTRY_CHARACTERS = 1_048_576
/** Bytes per read of a log object. */
const PIECE_BYTES = 1_048_576
const OBJECTS_PER_PAGE = 500
/** Objects whose size is asked for at the same time. */
const HEADS_AT_ONCE = 8

/**
 * Writes an archive and returns its trailer. `begin` is called when the database was read successfully for the first time, before the first bytes. Throws
 * `config-invalid` if the tables are those of another version, `storage-full` if SQLite cannot be copied, and errors of the log storage. The output is
 * incomplete then.
 */
export async function writeArchive(source: ArchiveSource, output: Output, begin: () => void = noop): Promise<ArchiveTrailer> {
  return source.store.readSnapshot(async (snapshot) => {
    const migrations = await appliedMigrations(snapshot.query)
    requireCurrent(migrations)
    const tables = await tablesAt(migrations)
    begin()
    const archive = openWriter(output)
    try {
      await archive.json(HEADER, await describe(source, { snapshot, migrations, tables }))
      if (source.keys !== undefined) await archive.json(KEYS, await sealKeys(source.keys.lines, source.keys.passphrase))
      const digests: Record<string, ArchiveTrailer['tables'][string]> = {}
      for (const table of tables) digests[table.name] = await writeTable(archive, snapshot, table)
      const logs = await writeLogs(archive, snapshot, source.objects)
      return await archive.finish({ tables: digests, logs })
    } catch (error) {
      throw archive.abandon(error)
    }
  })
}

function noop(): void {}

interface Content {
  readonly snapshot: Snapshot
  readonly migrations: string[]
  readonly tables: ArchiveTable[]
}

async function describe(source: ArchiveSource, { snapshot, migrations, tables }: Content): Promise<ArchiveHeader> {
  return {
    format: 'windlass-archive',
    version: ARCHIVE_VERSION,
    createdAt: source.clock.now(),
    windlass: VERSION,
    database: source.store.name,
    migrations,
    tables,
    masterKey: (await findMeta(snapshot.query, CURRENT_KEY)) ?? null,
    logStorage: (await findMeta(snapshot.query, LOG_STORAGE)) ?? null,
    hasKeys: source.keys !== undefined,
    hasLogs: source.objects !== undefined,
  }
}

async function writeTable(archive: Writer, snapshot: Snapshot, { name, columns }: ArchiveTable): Promise<RowDigest['result']> {
  const digest = new RowDigest()
  let part = 0
  let lines: string[] = []
  let size = 0
  const flush = async (): Promise<void> => {
    if (lines.length === 0) return
    part += 1
    await archive.entry(`tables/${name}/${String(part).padStart(6, '0')}.ndjson`, Buffer.from(`${lines.join('\n')}\n`))
    lines = []
    size = 0
  }
  for await (const row of snapshot.rows(name, columns)) {
    const line = toLine(row, columns)
    digest.add(line)
    lines.push(line)
    size += line.length
    if (size >= ENTRY_CHARACTERS) await flush()
  }
  await flush()
  return digest.result
}

/** An object, and the end of the last chunk in it. Bytes. */
interface Referenced {
  readonly object: string
  readonly end: number
}

async function writeLogs(archive: Writer, snapshot: Snapshot, objects: Objects | undefined): Promise<ArchiveTrailer['logs']> {
  const logs = { objects: 0, bytes: 0, missing: 0 }
  if (objects === undefined) return logs
  let after = ''
  for (;;) {
    const page = await listReferenced(snapshot, after)
    for (let at = 0; at < page.length; at += HEADS_AT_ONCE) {
      const found = await Promise.all(
        page.slice(at, at + HEADS_AT_ONCE).map(async (each) => ({ ...each, head: await objects.head(each.object) })),
      )
      for (const { object, end, head } of found) {
        if (head === undefined || head.bytes < end) {
          logs.missing += 1
          continue
        }
        await archive.stream(`logs/${object}`, head.bytes, piecesOf(objects, object, head.bytes))
        logs.objects += 1
        logs.bytes += head.bytes
      }
    }
    const last = page.at(-1)
    if (last === undefined || page.length < OBJECTS_PER_PAGE) return logs
    after = last.object
  }
}

async function listReferenced({ query }: Snapshot, after: string): Promise<Referenced[]> {
  return query
    .selectFrom('chunk')
    .select(['object', sql<number>`max(object_start + bytes)`.as('end')])
    .where('object', '>', after)
    .groupBy('object')
    .orderBy('object')
    .limit(OBJECTS_PER_PAGE)
    .execute()
}

async function* piecesOf(objects: Objects, key: string, bytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes; start += PIECE_BYTES) {
    const wanted = Math.min(PIECE_BYTES, bytes - start)
    const piece = await objects.get(key, { start, bytes: wanted })
    if (piece?.length !== wanted)
      throw fault('unavailable', { message: `The log object ${key} was deleted while the archive was written.` })
    yield piece
  }
}

interface Writer {
  json(name: string, value: unknown): Promise<void>
  entry(name: string, content: Buffer): Promise<void>
  stream(name: string, bytes: number, content: AsyncIterable<Uint8Array>): Promise<void>
  /** Writes the trailer. Resolves when everything is in the output. */
  finish(content: Pick<ArchiveTrailer, 'tables' | 'logs'>): Promise<ArchiveTrailer>
  /** Ends without a trailer. Returns the error of the output if it is the cause of this one. */
  abandon(error: unknown): unknown
}

function openWriter(output: Output): Writer {
  const archive: Pack = pack()
  // Errors arrive by the callbacks of entries and by the pump. An event without a listener would end the process.
  archive.on('error', noop)
  const digest = new EntryDigest()
  const pumped = pump(archive, output)
  let failure: unknown
  pumped.catch((error: unknown) => {
    failure = error
    archive.destroy(toError(error))
  })
  const entry = async (name: string, content: Buffer): Promise<void> => {
    digest.begin(name, content.length)
    digest.update(content)
    await put(archive, name, content)
  }
  return {
    json: (name, value) => entry(name, Buffer.from(`${JSON.stringify(value)}\n`)),
    entry,
    async stream(name, bytes, content) {
      digest.begin(name, bytes)
      const ended = Promise.withResolvers<void>()
      ended.promise.catch(noop)
      const sink = archive.entry({ ...META, name, size: bytes }, settle(ended))
      sink.on('error', noop)
      for await (const piece of content) {
        digest.update(piece)
        if (!sink.write(piece)) await Promise.race([drained(sink), ended.promise])
      }
      sink.end(null)
      await ended.promise
    },
    async finish(content) {
      const trailer: ArchiveTrailer = { ...content, ...digest.finish() }
      await put(archive, TRAILER, Buffer.from(`${JSON.stringify(trailer)}\n`))
      archive.finalize()
      await pumped
      return trailer
    },
    abandon(error) {
      archive.destroy(toError(error))
      return failure ?? error
    },
  }
}

/** Times are the Unix epoch, so that equal data gives equal bytes. */
const META = { mode: 0o600, mtime: new Date(0) }

async function put(archive: Pack, name: string, content: Buffer): Promise<void> {
  const ended = Promise.withResolvers<void>()
  archive.entry({ ...META, name, size: content.length }, content, settle(ended)).on('error', noop)
  await ended.promise
}

function settle({ resolve, reject }: PromiseWithResolvers<void>): (error?: Error | null) => void {
  return (error) => (error === undefined || error === null ? resolve() : reject(error))
}

function drained(sink: { once(event: 'drain', listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => void sink.once('drain', () => resolve()))
}

async function pump(archive: Pack, output: Output): Promise<void> {
  for await (const piece of archive as AsyncIterable<Uint8Array>) await output(piece)
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

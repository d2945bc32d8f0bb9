/** Archives that tests write: of a server, or with any content. */
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { pack } from 'tar-stream'
import type { App } from '../../src/app.ts'
import {
  EntryDigest,
  HEADER,
  RowDigest,
  toLine,
  TRAILER,
  type ArchiveHeader,
  type ArchiveTrailer,
} from '../../src/archive/format.ts'
import type { Target } from '../../src/archive/load-archive.ts'
import { tablesAt } from '../../src/archive/tables.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { writeDirectly, type WriteOptions } from '../../src/archive/write-directly.ts'

/** Collects what is written and stores it in a file. */
async function toFile(
  file: string,
  write: (output: (bytes: Uint8Array) => Promise<void>) => Promise<ArchiveTrailer>,
): Promise<ArchiveTrailer> {
  const pieces: Uint8Array[] = []
  const trailer = await write(async (bytes) => void pieces.push(bytes))
  await pipeline(pieces, createWriteStream(file))
  return trailer
}

/** Writes the archive of a server that is running, with its logs. */
export function archiveOf(app: App, file: string, passphrase?: string): Promise<ArchiveTrailer> {
  const lines = app.vault.ring.keys().map(({ text }) => text)
  return toFile(file, (output) =>
    writeArchive(
      {
        store: app.store,
        clock: app.clock,
        objects: app.logs.objects,
        keys: passphrase === undefined ? undefined : { lines, passphrase },
      },
      output,
    ),
  )
}

/** Writes the archive of a database without a server. */
export function directArchiveOf(target: Target, file: string, options: WriteOptions): Promise<ArchiveTrailer> {
  return toFile(file, (output) => writeDirectly(target, output, options))
}

export interface Crafted {
  readonly migrations: readonly string[]
  /** Table -> rows. */
  readonly rows?: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>
  readonly header?: Partial<Record<keyof ArchiveHeader, unknown>>
  /** Further entries before the trailer. */
  readonly entries?: Readonly<Record<string, string>>
}

/** Writes an archive whose checksums are right, with any content. */
export async function craftArchive(file: string, { migrations, rows = {}, header = {}, entries = {} }: Crafted): Promise<void> {
  const tables = await tablesAt(migrations)
  const archive = pack()
  const digest = new EntryDigest()
  const add = (name: string, text: string): void => {
    digest.begin(name, Buffer.byteLength(text))
    digest.update(Buffer.from(text))
    archive.entry({ name }, text)
  }
  const base = {
    format: 'windlass-archive',
    version: 1,
    createdAt: 1,
    windlass: '0',
    database: 'sqlite',
    migrations,
    tables,
    masterKey: null,
    logStorage: null,
    hasKeys: false,
    hasLogs: false,
  }
  add(HEADER, JSON.stringify({ ...base, ...header }))
  const sums: Record<string, RowDigest['result']> = {}
  for (const { name, columns } of tables) {
    const sum = new RowDigest()
    const lines = (rows[name] ?? []).map((row) => toLine(row, columns))
    for (const line of lines) sum.add(line)
    sums[name] = sum.result
    if (lines.length > 0) add(`tables/${name}/000001.ndjson`, `${lines.join('\n')}\n`)
  }
  for (const [name, text] of Object.entries(entries)) add(name, text)
  const trailer: ArchiveTrailer = { tables: sums, logs: { objects: 0, bytes: 0, missing: 0 }, ...digest.finish() }
  archive.entry({ name: TRAILER }, JSON.stringify(trailer))
  archive.finalize()
  await pipeline(archive as unknown as NodeJS.ReadableStream, createWriteStream(file))
}

/**
 * The format of an archive: a tar file with JSON texts, the rows of all tables and log objects, in this order:
 *
 *   archive.json                    the header (`ArchiveHeader`)
 *   keys.json                       only if asked for: the master keys, encrypted with a passphrase (`SealedKeys`)
 *   tables/TABLE/000001.ndjson …    one row per line, a JSON list of the values of the columns that the header lists
 *   logs/KEY …                      the log objects to which rows refer
 *   complete.json                   the trailer (`ArchiveTrailer`); an archive without it is incomplete
 */
import { createHash } from 'node:crypto'
import { fault } from '@windlass/kit'
import { z } from 'zod'

export const ARCHIVE_VERSION = 1
export const HEADER = 'archive.json'
export const KEYS = 'keys.json'
export const TRAILER = 'complete.json'

const Name = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/)
const Digest = z.string().regex(/^[0-9a-f]{64}$/)

/** Columns of a table, sorted by name. */
export const ArchiveTable = z.strictObject({ name: Name, columns: z.array(Name).min(1) })
export type ArchiveTable = z.output<typeof ArchiveTable>

export const ArchiveHeader = z.strictObject({
  format: z.literal('windlass-archive'),
  version: z.literal(ARCHIVE_VERSION),
  /** Epoch milliseconds, the moment of the rows. */
  createdAt: z.int(),
  /** Version of the program that wrote it. */
  windlass: z.string(),
  database: z.enum(['sqlite', 'postgres']),
  /** Names of the applied migrations, sorted. */
  migrations: z.array(z.string()).min(1),
  tables: z.array(ArchiveTable).min(1),
  /** Id of the current master key; null if no server has used the database. */
  masterKey: z.string().nullable(),
  /** Mark of the log storage; null if there is none yet. */
  logStorage: z.string().nullable(),
  hasKeys: z.boolean(),
  hasLogs: z.boolean(),
})
export type ArchiveHeader = z.output<typeof ArchiveHeader>

export const ArchiveTrailer = z.strictObject({
  /** By table: number of rows, and their `RowDigest`. */
  tables: z.record(Name, z.strictObject({ rows: z.int().min(0), digest: Digest })),
  logs: z.strictObject({
    objects: z.int().min(0),
    bytes: z.int().min(0),
    /** Objects to which rows refer and which the storage did not have. */
    missing: z.int().min(0),
  }),
  /** Number of entries before this one, and the SHA-256 of their names, sizes and contents. */
  entries: z.int().min(1),
  sha256: Digest,
})
export type ArchiveTrailer = z.output<typeof ArchiveTrailer>

/** Returns the line of a row, without its newline. Equal rows of different databases have equal lines. */
export function toLine(row: Readonly<Record<string, unknown>>, columns: readonly string[]): string {
  return JSON.stringify(columns.map((column) => row[column] ?? null))
}

/** A value of a row. */
export type Value = string | number | null

const DIGEST_MODULUS = 1n << 256n

/** Digest of a set of rows that does not depend on their order: the sum of their SHA-256. */
export class RowDigest {
  #sum = 0n
  #rows = 0

  add(line: string): void {
    this.#sum = (this.#sum + BigInt(`0x${createHash('sha256').update(line).digest('hex')}`)) % DIGEST_MODULUS
    this.#rows += 1
  }

  get result(): ArchiveTrailer['tables'][string] {
    return { rows: this.#rows, digest: this.#sum.toString(16).padStart(64, '0') }
  }
}

/** Digest of the entries of an archive. */
export class EntryDigest {
  readonly #hash = createHash('sha256')
  #entries = 0

  begin(name: string, bytes: number): void {
    this.#entries += 1
    this.#hash.update(`${name}\0${bytes}\0`)
  }

  update(piece: Uint8Array): void {
    this.#hash.update(piece)
  }

  /** Call it once. */
  finish(): Pick<ArchiveTrailer, 'entries' | 'sha256'> {
    return { entries: this.#entries, sha256: this.#hash.digest('hex') }
  }
}

/** Returns the fault of an archive that cannot be used. */
export function invalidArchive(message: string, hint?: string): Error {
  return fault('archive-invalid', { message, ...(hint !== undefined && { hint }) })
}

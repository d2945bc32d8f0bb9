/** Writes an archive without a server: from the database that the settings name. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defined, fault, silentLog, systemClock } from '@windlass/kit'
import { openLogStorage } from '../logs/objects/storage.ts'
import { LOG_STORAGE } from '../logs/objects/storage-mark.ts'
import { openRing } from '../secrets/ring.ts'
import { findMeta } from '../store/account/meta.ts'
import { DATABASE_FILE, openDialect } from '../store/database/dialect.ts'
import { appliedMigrations } from '../store/migrate.ts'
import type { Schema } from '../store/schema/schema.ts'
import type { Kysely } from 'kysely'
import type { LogStorage } from '../logs/objects/storage.ts'
import type { ArchiveTrailer } from './format.ts'
import type { Target } from './load-archive.ts'
import { requireCurrent } from './tables.ts'
import { writeArchive, type Output } from './write-archive.ts'

export interface WriteOptions {
  readonly withLogs: boolean
  /** Includes the master keys, encrypted with it. */
  readonly passphrase?: string | undefined
}

/**
 * Writes an archive of the database of these settings. Servers may use PostgreSQL meanwhile; the server of an SQLite database must be stopped
 * (`store-locked`). Throws `file-not-found` if there is no database, and the faults of `writeArchive`.
 */
export async function writeDirectly(
  target: Target,
  output: Output,
  { withLogs, passphrase }: WriteOptions,
): Promise<ArchiveTrailer> {
  const file = join(target.dataDir, DATABASE_FILE)
  if (target.databaseUrl === undefined && !existsSync(file))
    throw fault('file-not-found', {
      message: `The database ${file} does not exist.`,
      hint: 'Set WINDLASS_SERVER_DATA_DIR or WINDLASS_SERVER_DATABASE_URL, or use --data.',
    })
  const lines =
    passphrase === undefined
      ? undefined
      : openRing(target, false)
          .keys()
          .map(({ text }) => text)
  const dialect = await openDialect({ ...target, clock: systemClock, log: silentLog })
  try {
    requireCurrent(await appliedMigrations(dialect.query))
    const storage = withLogs ? await openOwnLogs(dialect.query, target) : undefined
    const keys = passphrase === undefined || lines === undefined ? undefined : { lines, passphrase }
    return await writeArchive({ store: dialect, clock: systemClock, ...defined({ objects: storage?.objects, keys }) }, output)
  } finally {
    await dialect.close()
  }
}

/** Opens the log storage of the settings. Throws `config-invalid` if it is not that of the database. */
async function openOwnLogs(query: Kysely<Schema>, { dataDir, logsUrl, environment, s3Limits }: Target): Promise<LogStorage> {
  const storage = await openLogStorage({ dataDir, logsUrl, environment, s3Limits, clock: systemClock })
  if ((await findMeta(query, LOG_STORAGE)) === (await storage.readMark())) return storage
  throw fault('config-invalid', {
    message: `The log ${storage.name} does not belong to this database.`,
    hint: 'Set WINDLASS_SERVER_LOGS_URL as for the server.',
  })
}

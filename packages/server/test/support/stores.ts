/** The real databases on which the store tests run. */
import { rm } from 'node:fs/promises'
import { manualClock, silentLog, systemClock, type ManualClock } from '@windlass/kit'
import pg from 'pg'
import { startPostgres, type Postgres } from '../../../../e2e/support/postgres.ts'
import type { App } from '../../src/app.ts'
import { openMetrics } from '../../src/metrics.ts'
import { openApp } from '../../src/open-app.ts'
import { openStore } from '../../src/store/store.ts'
import type { ServerOptions } from '../../src/settings.ts'
import { memoryFolder } from '../../../../e2e/support/memory-folder.ts'

export interface Database extends AsyncDisposable {
  readonly name: string
  /** Returns server options for a new database and data folder. With `isBare` the database has no tables yet. */
  fresh(options?: { readonly isBare?: boolean }): Promise<Pick<ServerOptions, 'dataDir' | 'databaseUrl'>>
}

export const DATABASES = [
  { name: 'SQLite', open: openSqlite },
  { name: 'PostgreSQL', open: openPostgres },
] as const

async function openSqlite(): Promise<Database> {
  const folders = new Folders()
  return { name: 'SQLite', fresh: async () => ({ dataDir: await folders.make() }), [Symbol.asyncDispose]: () => folders.remove() }
}

async function openPostgres(): Promise<Database> {
  const folders = new Folders()
  const postgres: Postgres = await startPostgres({ isDurable: false })
  const admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  const urlOf = (name: string): string => Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href
  // Every database is a copy of one that already has its tables.
  await admin.query('create database empty')
  const parts = { clock: systemClock, log: silentLog, metrics: openMetrics() }
  const store = await openStore({ dataDir: await folders.make(), databaseUrl: urlOf('empty'), ...parts })
  await store.close()
  let databases = 0
  return {
    name: 'PostgreSQL',
    async fresh({ isBare = false } = {}) {
      databases += 1
      const name = `test_${databases}`
      await admin.query(`create database ${name}${isBare ? '' : ' template empty'} strategy file_copy`)
      return { dataDir: await folders.make(), databaseUrl: urlOf(name) }
    },
    async [Symbol.asyncDispose]() {
      await admin.end()
      await postgres.close()
      await folders.remove()
    },
  }
}

class Folders {
  readonly #paths: string[] = []

  async make(): Promise<string> {
    const path = await memoryFolder('windlass-store-')
    this.#paths.push(path)
    return path
  }

  async remove(): Promise<void> {
    for (const path of this.#paths) await rm(path, { recursive: true, force: true })
  }
}

export interface TestApp extends AsyncDisposable {
  readonly app: App
  readonly clock: ManualClock
}

/** Opens a server without HTTP and without loops, on a clock that the test controls. */
export async function openTestApp(
  database: Database,
  { startAt = 1_800_000_000_000, ...options }: Partial<ServerOptions> & { readonly startAt?: number } = {},
): Promise<TestApp> {
  const clock = manualClock(startAt)
  const opened = await openApp(
    { ...(await database.fresh()), log: silentLog, ...options, clock, time: 'process', startsLoops: false },
    () => 'http://server.test',
  )
  return { app: opened.app, clock, [Symbol.asyncDispose]: () => opened.close() }
}

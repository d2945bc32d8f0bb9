/** The real databases on which the store tests run. */
import { rm } from 'node:fs/promises'
import { manualClock, silentLog, systemClock, type ManualClock } from '@windlass/kit'
import pg from 'pg'
import { inject } from 'vitest'
import { startPostgres } from '../../../../e2e/support/postgres.ts'
import type { App } from '../../src/app.ts'
import { openMetrics } from '../../src/metrics.ts'
import { openApp } from '../../src/open-app.ts'
import { openStore } from '../../src/store/store.ts'
import type { ServerOptions } from '../../src/settings.ts'
import { memoryFolder } from '../../../../e2e/support/memory-folder.ts'
import { DOCUMENT_PROGRAM } from './document-program.ts'
import { putEmptyDatabase } from './empty-database.ts'

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
  return {
    name: 'SQLite',
    async fresh({ isBare = false } = {}) {
      const dataDir = await folders.make()
      if (!isBare) await putEmptyDatabase(dataDir)
      return { dataDir }
    },
    [Symbol.asyncDispose]: () => folders.remove(),
  }
}

/** Opens databases on the PostgreSQL that the files of a group share, or on an own one in groups where few files use it. */
async function openPostgres(): Promise<Database> {
  const folders = new Folders()
  const shared = inject('sharedPostgres')
  const own = shared === undefined ? await startPostgres({ isDurable: false }) : undefined
  const url = shared ?? own?.url ?? ''
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await ensureTemplate(admin, url)
  const names: string[] = []
  return {
    name: 'PostgreSQL',
    async fresh({ isBare = false } = {}) {
      const name = `test_${process.pid}_${(databases += 1)}`
      names.push(name)
      await admin.query(`create database ${name}${isBare ? '' : ` template ${TEMPLATE}`} strategy file_copy`)
      return { dataDir: await folders.make(), databaseUrl: urlOf(url, name) }
    },
    async [Symbol.asyncDispose]() {
      if (own === undefined) for (const name of names) await admin.query(`drop database ${name} with (force)`)
      await admin.end()
      await own?.close()
      await folders.remove()
    },
  }
}

/** Databases that this process has made. */
let databases = 0

/** A database with the tables of the server and without rows. The databases of tests are copies of it. */
const TEMPLATE = 'empty'

/** Makes the template if no process has. */
async function ensureTemplate(admin: pg.Client, postgres: string): Promise<void> {
  await admin.query('select pg_advisory_lock(1)')
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [TEMPLATE])
  if (rowCount === 0) {
    await admin.query(`create database ${TEMPLATE}`)
    const folders = new Folders()
    const parts = { clock: systemClock, log: silentLog, metrics: openMetrics() }
    const store = await openStore({ dataDir: await folders.make(), databaseUrl: urlOf(postgres, TEMPLATE), ...parts })
    await store.close()
    await folders.remove()
  }
  await admin.query('select pg_advisory_unlock(1)')
}

function urlOf(postgres: string, name: string): string {
  return Object.assign(new URL(postgres), { pathname: `/${name}` }).href
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
    {
      ...(await database.fresh()),
      log: silentLog,
      documentProgram: DOCUMENT_PROGRAM,
      ...options,
      clock,
      time: 'process',
      startsLoops: false,
    },
    () => 'http://server.test',
  )
  return { app: opened.app, clock, [Symbol.asyncDispose]: () => opened.close() }
}

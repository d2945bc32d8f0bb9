/** The databases that the store suite runs on, each real. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, silentLog, type ManualClock } from '@windlass/kit'
import pg from 'pg'
import { startPostgres, type Postgres } from '../../../../e2e/support/postgres.ts'
import type { App } from '../../src/app.ts'
import { openApp } from '../../src/open-app.ts'
import type { ServerOptions } from '../../src/server.ts'

export interface Database extends AsyncDisposable {
  readonly name: string
  /** Options of a server on this database with everything in it deleted, and a fresh data folder. */
  fresh(): Promise<Pick<ServerOptions, 'dataDir' | 'databaseUrl'>>
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
  const postgres: Postgres = await startPostgres()
  let databases = 0
  return {
    name: 'PostgreSQL',
    async fresh() {
      databases += 1
      const name = `test_${databases}`
      const url = new URL(postgres.url)
      const admin = new pg.Client({ connectionString: url.href })
      await admin.connect()
      await admin.query(`create database ${name}`)
      await admin.end()
      url.pathname = `/${name}`
      return { dataDir: await folders.make(), databaseUrl: url.href }
    },
    async [Symbol.asyncDispose]() {
      await postgres.close()
      await folders.remove()
    },
  }
}

class Folders {
  readonly #paths: string[] = []

  async make(): Promise<string> {
    const path = await mkdtemp(join(tmpdir(), 'windlass-store-'))
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

/** The rooms of a server without HTTP and without loops, on a clock that the test turns. */
export async function openTestApp(database: Database, options: Partial<ServerOptions> = {}): Promise<TestApp> {
  const clock = manualClock(1_800_000_000_000)
  const opened = await openApp(
    { ...(await database.fresh()), log: silentLog, ...options, clock, startsLoops: false },
    () => 'http://server.test',
  )
  return { app: opened.app, clock, [Symbol.asyncDispose]: () => opened.close() }
}

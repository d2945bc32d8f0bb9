/**
 * The store: reads by `query`, writes by `write`. Nothing but the database may be awaited inside a write: on SQLite it holds the only
 * connection, and other writes share its commit.
 */
import { fault, type Clock, type Logger } from '@windlass/kit'
import { sql, type Kysely, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import type { Metrics } from '../metrics.ts'
import type { Watch } from './bus.ts'
import { openDialect, type Dialect } from './dialect.ts'
import { migrations } from './migrations/index.ts'
import type { Schema } from './schema.ts'

/** What reads take: the database, or a transaction. */
export type Query = Kysely<Schema>

/** An open transaction. */
export interface Tx {
  readonly query: Transaction<Schema>
  readonly forUpdate: Dialect['forUpdate']
  readonly skipLocked: Dialect['skipLocked']
  /** Wakes those who watch the topic, once the transaction is committed. */
  wake(topic: string): void
  /** Counts something, once the transaction is committed. */
  measure(count: (metrics: Metrics) => void): void
}

export interface Store {
  readonly name: Dialect['name']
  readonly query: Query
  /** Longest sleep between two looks while waiting for a wake-up. Milliseconds. */
  readonly pollMs: number
  /** Runs `work` in a transaction; what it throws rolls back. Resolves when the commit is durable. May run `work` more than once. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  watch(topic: string): Watch
  /** Throws when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoreOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
}

/** Opens the store and brings its schema up to date. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const dialect = await openDialect(options)
  try {
    await migrate(dialect.query)
  } catch (error) {
    await dialect.close()
    throw error
  }
  const write = dialect.isSingleWriter ? groupWriter(dialect, options.metrics) : pooledWriter(dialect, options.metrics)
  return {
    name: dialect.name,
    query: dialect.query,
    pollMs: dialect.pollMs,
    write,
    watch: (topic) => dialect.bus.watch(topic),
    async ping() {
      await sql`select 1`.execute(dialect.query)
    },
    close: () => dialect.close(),
  }
}

async function migrate(query: Query): Promise<void> {
  const migrator = new Migrator({ db: query, provider: { getMigrations: async () => migrations } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  const failed = results?.find(({ status }) => status === 'Error')?.migrationName
  throw fault(
    'unavailable',
    { message: `The database cannot be brought up to date${failed === undefined ? '' : ` (${failed})`}.` },
    error,
  )
}

type Write = Store['write']

/** What a transaction asks for after its commit. */
interface Aftermath {
  readonly topics: Set<string>
  readonly counts: ((metrics: Metrics) => void)[]
}

function openTx(dialect: Dialect, query: Transaction<Schema>): { tx: Tx; aftermath: Aftermath } {
  const aftermath: Aftermath = { topics: new Set(), counts: [] }
  const tx: Tx = {
    query,
    forUpdate: (select) => dialect.forUpdate(select),
    skipLocked: (select) => dialect.skipLocked(select),
    wake: (topic) => void aftermath.topics.add(topic),
    measure: (count) => void aftermath.counts.push(count),
  }
  return { tx, aftermath }
}

const MAX_TRIES = 5

function pooledWriter(dialect: Dialect, metrics: Metrics): Write {
  return async (work) => {
    for (let tries = 1; ; tries += 1) {
      try {
        const { value, aftermath } = await dialect.query.transaction().execute(async (query) => {
          const opened = openTx(dialect, query)
          return { value: await work(opened.tx), aftermath: opened.aftermath }
        })
        if (aftermath.topics.size > 0) dialect.bus.wake(aftermath.topics)
        for (const count of aftermath.counts) count(metrics)
        return value
      } catch (error) {
        if (tries >= MAX_TRIES || !dialect.isRetryable(error)) throw error
      }
    }
  }
}

interface Job {
  run(tx: Tx): Promise<unknown>
  succeed(): void
  fail(error: unknown): void
}

/** Most writes that share one commit. */
const MAX_GROUP = 100

/**
 * Writes that arrive in the same turn of the event loop share one commit: a durable commit costs a sync of the disk, and the one
 * connection could not use the time for anything else. When one of them fails, which is rare, they are run again one by one.
 */
function groupWriter(dialect: Dialect, metrics: Metrics): Write {
  const queue: Job[] = []
  let isScheduled = false

  function schedule(): void {
    if (isScheduled || queue.length === 0) return
    isScheduled = true
    setImmediate(() => {
      void commitGroup(dialect, metrics, queue.splice(0, MAX_GROUP)).finally(() => {
        isScheduled = false
        schedule()
      })
    })
  }

  return <T>(work: (tx: Tx) => Promise<T>) => {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let value: { of: T } | undefined
    queue.push({
      async run(tx) {
        value = { of: await work(tx) }
      },
      succeed: () => (value === undefined ? reject(new Error('a write ended without a value')) : resolve(value.of)),
      fail: reject,
    })
    schedule()
    return promise
  }
}

async function commitGroup(dialect: Dialect, metrics: Metrics, jobs: readonly Job[]): Promise<void> {
  const done = (await runTogether(dialect, jobs)) ?? (await runApart(dialect, jobs))
  const topics = new Set(done.flatMap(({ aftermath }) => [...aftermath.topics]))
  if (topics.size > 0) dialect.bus.wake(topics)
  for (const count of done.flatMap(({ aftermath }) => aftermath.counts)) count(metrics)
  for (const { job } of done) job.succeed()
}

interface Done {
  readonly job: Job
  readonly aftermath: Aftermath
}

/** All in one transaction, hoping that none fails; undefined, and nothing done, when one did. */
async function runTogether(dialect: Dialect, jobs: readonly Job[]): Promise<Done[] | undefined> {
  const done: Done[] = []
  try {
    await dialect.query.transaction().execute(async (query) => {
      for (const job of jobs) {
        const { tx, aftermath } = openTx(dialect, query)
        await job.run(tx)
        done.push({ job, aftermath })
      }
    })
    return done
  } catch (error) {
    if (jobs.length > 1) return undefined
    for (const job of jobs) job.fail(error)
    return []
  }
}

/** One of them fails: each in a transaction of its own, so that it alone is undone. */
async function runApart(dialect: Dialect, jobs: readonly Job[]): Promise<Done[]> {
  const done: Done[] = []
  for (const job of jobs) done.push(...((await runTogether(dialect, [job])) ?? []))
  return done
}

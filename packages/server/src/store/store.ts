/**
 * The store: reads with `query`, writes with `write`. A write must await nothing except the database: on SQLite it holds the only
 * connection, and other writes share its commit.
 */
import type { Clock, Logger } from '@windlass/kit'
import { sql, type Kysely, type Transaction } from 'kysely'
import type { Metrics } from '../metrics.ts'
import type { Watch } from './database/bus.ts'
import { openDialect, type Dialect } from './database/dialect.ts'
import { isMigrated, migrate } from './migrate.ts'
import type { DatabaseLimits } from './database/postgres-pool.ts'
import type { Schema } from './schema/schema.ts'
import type { Snapshot } from './database/snapshot.ts'
import { openStoreClock } from './database/store-clock.ts'

/** What reads need: the database, or a transaction. */
export type Query = Kysely<Schema>

/** An open transaction. */
export interface Tx {
  readonly query: Transaction<Schema>
  readonly forUpdate: Dialect['forUpdate']
  readonly forShare: Dialect['forShare']
  readonly skipLocked: Dialect['skipLocked']
  /** Wakes the watchers of the topic after the commit. */
  wake(topic: string): void
  /** Updates metrics after the commit. */
  measure(count: (metrics: Metrics) => void): void
}

/** Reads rows that limit something: a transaction, which locks them, or `withoutLocks` for a view of them. */
export interface LimitReader {
  readonly query: Query
  readonly forUpdate: Dialect['forUpdate']
}

/** Reads without locks. */
export function withoutLocks(query: Query): LimitReader {
  return { query, forUpdate: (select) => select }
}

/** Runs in the transaction that creates a value. If it throws, the value is rolled back. */
export type Within<T> = (tx: Tx, value: T) => Promise<void>

export interface Store {
  readonly name: Dialect['name']
  readonly query: Query
  /** True if other servers may use the same database. */
  readonly isShared: boolean
  /** Maximum time between two reads while waiting for a wake-up. Milliseconds. */
  readonly pollMs: number
  /** Runs `work` in a transaction and rolls back if it throws. Resolves when the commit is durable. May run `work` more than once. */
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  watch(topic: string): Watch
  /** Calls `onTopic` for each topic that a commit of any server wakes, until the result is disposed. It may miss some. */
  listen(onTopic: (topic: string) => void): Disposable
  /** Runs `work` on an unchanging state of the database, for backups. It may take hours; writes continue in the meantime. */
  readSnapshot<T>(work: (snapshot: Snapshot) => Promise<T>): Promise<T>
  /** The time for all rows and timeouts: that of the database if it has a clock, otherwise that of this process. */
  readonly clock: Clock
  /** Reads the time of the database again. Throws if it does not answer. */
  measureTime(): Promise<void>
  /** Throws if the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export interface StoreOptions {
  readonly dataDir: string
  readonly databaseUrl?: string | undefined
  readonly databaseLimits?: Partial<DatabaseLimits> | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** `process`: uses the given clock instead of that of the database; for tests with a manual clock. */
  readonly time?: 'process' | undefined
}

/** Opens the store and migrates its schema. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const dialect = await openDialect(options)
  const clock = openStoreClock(options.clock, options.time === 'process' ? undefined : dialect.readTime?.bind(dialect))
  try {
    if (!(await isMigrated(dialect.query)))
      await dialect.migrate((query, findHolders) => migrate(query, { log: options.log, findHolders }))
    await clock.measure()
  } catch (error) {
    await dialect.close()
    throw error
  }
  const write = dialect.isSingleWriter ? groupWriter(dialect, options.metrics) : pooledWriter(dialect, options.metrics)
  return {
    name: dialect.name,
    query: dialect.query,
    isShared: !dialect.isSingleWriter,
    pollMs: dialect.pollMs,
    write,
    watch: (topic) => dialect.bus.watch(topic),
    listen: (onTopic) => dialect.bus.listen(onTopic),
    readSnapshot: (work) => dialect.readSnapshot(work),
    clock,
    measureTime: () => clock.measure(),
    async ping() {
      await sql`select 1`.execute(dialect.query)
    },
    close: () => dialect.close(),
  }
}

type Write = Store['write']

/** What to do after the commit of a transaction. */
interface AfterCommit {
  readonly topics: Set<string>
  readonly counts: ((metrics: Metrics) => void)[]
}

function openTx(dialect: Dialect, query: Transaction<Schema>): { tx: Tx; afterCommit: AfterCommit } {
  const afterCommit: AfterCommit = { topics: new Set(), counts: [] }
  const tx: Tx = {
    query,
    forUpdate: (select) => dialect.forUpdate(select),
    forShare: (select) => dialect.forShare(select),
    skipLocked: (select) => dialect.skipLocked(select),
    wake: (topic) => void afterCommit.topics.add(topic),
    measure: (count) => void afterCommit.counts.push(count),
  }
  return { tx, afterCommit }
}

const MAX_ATTEMPTS = 5

function pooledWriter(dialect: Dialect, metrics: Metrics): Write {
  return async (work) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { value, afterCommit } = await dialect.query.transaction().execute(async (query) => {
          const opened = openTx(dialect, query)
          return { value: await work(opened.tx), afterCommit: opened.afterCommit }
        })
        if (afterCommit.topics.size > 0) dialect.bus.wake(afterCommit.topics)
        for (const count of afterCommit.counts) count(metrics)
        return value
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !dialect.isRetryable(error)) throw error
      }
    }
  }
}

interface Job {
  run(tx: Tx): Promise<unknown>
  succeed(): void
  fail(error: unknown): void
}

/** Maximum writes that share one commit. */
const MAX_GROUP = 100

/**
 * Writes that arrive in the same turn of the event loop share one commit, because a durable commit costs a disk sync, during which the only
 * connection is blocked. If one of them fails, which is rare, they run again one by one.
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
  const topics = new Set(done.flatMap(({ afterCommit }) => [...afterCommit.topics]))
  if (topics.size > 0) dialect.bus.wake(topics)
  for (const count of done.flatMap(({ afterCommit }) => afterCommit.counts)) count(metrics)
  for (const { job } of done) job.succeed()
}

interface Done {
  readonly job: Job
  readonly afterCommit: AfterCommit
}

/** Runs all jobs in one transaction. Returns undefined, with nothing committed, if one of several fails. */
async function runTogether(dialect: Dialect, jobs: readonly Job[]): Promise<Done[] | undefined> {
  const done: Done[] = []
  try {
    await dialect.query.transaction().execute(async (query) => {
      for (const job of jobs) {
        const { tx, afterCommit } = openTx(dialect, query)
        await job.run(tx)
        done.push({ job, afterCommit })
      }
    })
    return done
  } catch (error) {
    if (jobs.length > 1) return undefined
    for (const job of jobs) job.fail(error)
    return []
  }
}

/** Runs each job in its own transaction, so that only the failing one is rolled back. */
async function runApart(dialect: Dialect, jobs: readonly Job[]): Promise<Done[]> {
  const done: Done[] = []
  for (const job of jobs) done.push(...((await runTogether(dialect, [job])) ?? []))
  return done
}

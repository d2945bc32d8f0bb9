/**
 * Merging of log files. A build that writes single lines creates one file per line, up to 35,000 per hour. Their bytes are copied into one file, and
 * the chunks are then changed to refer to it. Positions, offsets and order stay the same, so readers are not affected. The process may stop at any
 * point: merged files without chunks are removed as orphans (`retention.ts`), and files without remaining chunks are recorded in the transaction that
 * moved the last chunk.
 */
import { createHash } from 'node:crypto'
import { attempt, ticks } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../../app.ts'
import { freeShare } from '../../builds/schedule/disk-space.ts'
import { lockBuild, updateBuild } from '../../store/builds/builds.ts'
import {
  deleteDeadObjectRows,
  insertDeadObjects,
  listDeadObjects,
  listLogParts,
  moveLogPart,
  takeDueBuild,
  type DueBuild,
  type LogPart,
} from '../../store/builds/logs/log-objects.ts'
import { listUnreferencedObjects } from '../../store/retention.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { inOrder } from '../in-order.ts'
import { MAX_SMALL_OBJECTS } from '../write-batch.ts'
import { isSettled, newObjectKey, SETTLE_MS } from './object-keys.ts'
import { planPacks } from './packs.ts'

const EVERY_MS = 10_000
const HOUR_MS = 3_600_000
/** Time after which another server may take over the build. Shorter than the age at which a file is an orphan. Milliseconds. */
const LEASE_MS = 600_000
const RETRY_MS = 60_000
/** Growth of the feed, in positions, after which a running build is merged from the beginning. In between only new files are merged. */
const WHOLE_EVERY = 65_536
const COPY_BYTES = 1_048_576
/** Maximum number of chunks that are changed in one transaction, because on SQLite other writes wait for it. */
const ROWS_PER_COMMIT = 2_000
const DEAD_PER_PAGE = 500
/** Number of concurrent calls to the storage. */
const WIDTH = 4

/** Runs a compaction every ten seconds until the server closes. */
export async function compactLoop(app: App): Promise<void> {
  for await (const _ of ticks(EVERY_MS, { clock: app.clock, signal: app.closing, jitter: 0.2 }))
    await attempt(app.log, 'compaction', () => compactDue(app))
}

/** Compacts every build that is due, then deletes files without chunks. */
export async function compactDue(app: App): Promise<void> {
  while (!app.closing.aborted) {
    // Merged files and their sources are in the log folder together for a while.
    if (app.logs.folder !== undefined && (await freeShare(app)).bytes < 2 * app.minFreeShare) break
    const lease = app.clock.now() + LEASE_MS
    const build = await app.store.write((tx) => takeDueBuild(tx, { now: app.clock.now(), until: lease }))
    if (build === undefined) break
    const run = new Compaction(app, build, lease)
    if ((await attempt(app.log, 'compaction', () => run.run())) === undefined) await run.retryLater()
  }
  await deleteDeadObjects(app)
}

/**
 * Deletes the objects that no chunk has referred to for `unusedLogHours`. Until then a backup of the database may still need them. An object that
 * another build still uses is recorded again when that build no longer needs it.
 */
export async function deleteDeadObjects(app: App): Promise<void> {
  const { store, closing, clock, retention } = app
  const before = clock.now() - retention.unusedLogHours * HOUR_MS
  for (let after = ''; !closing.aborted;) {
    const page = await listDeadObjects(store.query, { before, after, limit: DEAD_PER_PAGE })
    const settled = page.filter(({ object }) => isSettled(object, clock.now()))
    const dead = await listUnreferencedObjects(
      store.query,
      settled.map(({ object }) => object),
    )
    for await (const _ of inOrder(dead, WIDTH, (object) => app.logs.objects.delete(object)));
    await store.write((tx) =>
      deleteDeadObjectRows(
        tx,
        settled.map(({ id }) => id),
      ),
    )
    if (page.length < DEAD_PER_PAGE) return
    after = page.at(-1)?.id ?? ''
  }
}

type Range = Pick<LogPart, 'object' | 'start' | 'bytes'>

/** Splits parts of objects into pieces of at most `COPY_BYTES`. */
function* piecesOf(parts: readonly Range[]): Generator<Range> {
  for (const { object, start, bytes } of parts)
    for (let at = 0; at < bytes; at += COPY_BYTES) yield { object, start: start + at, bytes: Math.min(COPY_BYTES, bytes - at) }
}

/** Thrown if another server has taken over the build, its chunks have changed, or the server closes. */
class CompactionStopped extends Error {}

class Compaction {
  readonly #app: App
  readonly #build: DueBuild
  #lease: number

  constructor(app: App, build: DueBuild, lease: number) {
    this.#app = app
    this.#build = build
    this.#lease = lease
  }

  /** Merges the files of the build. Resolves with true if it is done or has been stopped. */
  async run(): Promise<true> {
    const { store, clock } = this.#app
    const { id, feed_position: position, compacted_to: from } = this.#build
    const isOver = isFinalBuild(this.#build.status)
    const isWhole = isOver || Math.floor(position / WHOLE_EVERY) > Math.floor(from / WHOLE_EVERY)
    const parts = await listLogParts(store.query, id, isWhole ? 0 : from)
    const young = parts.findIndex(({ object }) => !isSettled(object, clock.now()))
    const settled = young < 0 ? parts : parts.slice(0, young)
    try {
      for (const pack of planPacks(settled, isOver)) {
        const whole = await this.#skipDamaged(pack)
        if (whole.length > 1) await this.#merge(whole)
      }
      await this.#finish({ isOver, left: parts.length - settled.length, compactedTo: (parts[young]?.first ?? position + 1) - 1 })
    } catch (error) {
      if (!(error instanceof CompactionStopped)) throw error
      this.#app.log.warn({ buildId: id, err: error }, 'compaction stopped')
      await this.retryLater()
    }
    return true
  }

  /** Schedules the compaction again, unless another server has taken over the build. The lease may have expired. */
  async retryLater(): Promise<void> {
    const { clock, log, store } = this.#app
    const { id } = this.#build
    await attempt(log, 'compaction', () =>
      store.write(async (tx) => {
        const row = await lockBuild(tx, id)
        if (row?.compact_at === this.#lease) await updateBuild(tx, id, { compact_at: clock.now() + RETRY_MS })
      }),
    )
  }

  /** Runs a transaction while this server holds the lease. */
  async #whileLeased<T>(work: (tx: Tx, row: BuildRow) => Promise<T>): Promise<T> {
    const { clock, store } = this.#app
    const { id } = this.#build
    return store.write(async (tx) => {
      const row = await lockBuild(tx, id)
      if (row?.compact_at !== this.#lease || clock.now() >= this.#lease)
        throw new CompactionStopped(`the lease of ${id} has expired`)
      return work(tx, row)
    })
  }

  /** Returns the parts whose files are complete. Damaged files are not merged, so that an operator can repair them. */
  async #skipDamaged(parts: readonly LogPart[]): Promise<LogPart[]> {
    const { logs, log } = this.#app
    const whole: LogPart[] = []
    const heads = inOrder(parts, WIDTH, async (part) => ({ part, found: await logs.objects.head(part.object) }))
    for await (const { part, found } of heads) {
      await this.#keepLease()
      if (found !== undefined && found.bytes >= part.start + part.bytes) whole.push(part)
      else log.warn({ object: part.object, buildId: this.#build.id, bytes: found?.bytes }, 'log object is missing or damaged')
    }
    return whole
  }

  async #merge(pack: readonly LogPart[]): Promise<void> {
    const { clock, log, store } = this.#app
    await this.#renew()
    const now = clock.now()
    const object = newObjectKey(now)
    try {
      await this.#copy(object, pack)
      await this.#move(object, pack)
    } catch (error) {
      // Chunks may refer to the file even so, if the result of a commit was lost.
      await store.write((tx) => insertDeadObjects(tx, [object], now)).catch(() => undefined)
      throw error
    }
    log.debug({ buildId: this.#build.id, object, objects: pack.length }, 'merged log objects')
  }

  /** Renews the lease if needed. Called between small pieces of work, because the storage may be slow. Throws `CompactionStopped` when the server closes. */
  async #keepLease(): Promise<void> {
    if (this.#app.closing.aborted) throw new CompactionStopped('the server closes')
    if (this.#app.clock.now() > this.#lease - LEASE_MS / 2) await this.#renew()
  }

  async #renew(): Promise<void> {
    const lease = this.#app.clock.now() + LEASE_MS
    await this.#whileLeased((tx) => updateBuild(tx, this.#build.id, { compact_at: lease }))
    this.#lease = lease
  }

  /** Writes the merged file and verifies it by reading, because the source files will be deleted. */
  async #copy(object: string, pack: readonly LogPart[]): Promise<void> {
    const { objects } = this.#app.logs
    const written = createHash('sha256')
    await objects.put(object, this.#read(pack, written))
    const read = createHash('sha256')
    const bytes = pack.reduce((sum, part) => sum + part.bytes, 0)
    for await (const _ of this.#read([{ object, start: 0, bytes }], read));
    if (written.digest('hex') !== read.digest('hex')) throw new Error(`${object} differs from what was written`)
  }

  async *#read(parts: readonly Range[], hash: ReturnType<typeof createHash>): AsyncGenerator<readonly Uint8Array[]> {
    const { objects } = this.#app.logs
    const pieces = inOrder(piecesOf(parts), WIDTH, async ({ object, start, bytes }) => {
      const piece = await objects.get(object, { start, bytes })
      if (piece?.byteLength !== bytes) throw new Error(`${object} is shorter than its chunks`)
      return piece
    })
    for await (const piece of pieces) {
      await this.#keepLease()
      hash.update(piece)
      yield [piece]
    }
  }

  /** Changes the chunks to refer to the merged file, in several transactions. A partial move is a valid state. */
  async #move(object: string, pack: readonly LogPart[]): Promise<void> {
    let start = 0
    for (let from = 0; from < pack.length;) {
      const some: LogPart[] = []
      for (let rows = 0; from < pack.length && (some.length === 0 || rows < ROWS_PER_COMMIT); from += 1) {
        const part = pack[from]
        if (part === undefined) break
        some.push(part)
        rows += part.rows
      }
      await this.#moveTogether({ object, start }, some)
      start += some.reduce((sum, { bytes }) => sum + bytes, 0)
    }
  }

  async #moveTogether(to: { object: string; start: number }, parts: readonly LogPart[]): Promise<void> {
    const { id } = this.#build
    await this.#whileLeased(async (tx) => {
      let { start } = to
      for (const part of parts) {
        const moved = await moveLogPart(tx, id, part, { object: to.object, start })
        // The chunks have expired in the meantime.
        if (moved !== part.rows) throw new CompactionStopped(`${moved} of ${part.rows} chunks refer to ${part.object}`)
        start += part.bytes
      }
      await insertDeadObjects(
        tx,
        parts.map(({ object }) => object),
        this.#app.clock.now(),
      )
    })
  }

  /** Stores what remains: files that are too young to be merged, new files, and whether the build has ended in the meantime. */
  async #finish(done: { isOver: boolean; left: number; compactedTo: number }): Promise<void> {
    const { id, small_objects: seen } = this.#build
    await this.#whileLeased(async (tx, row) => {
      const small = done.left + Math.max(0, row.small_objects - seen)
      const isOver = isFinalBuild(row.status)
      const isDue = isOver ? !done.isOver || small > 0 : small >= MAX_SMALL_OBJECTS
      await updateBuild(tx, id, {
        small_objects: small,
        compacted_to: done.compactedTo,
        compact_at: isDue ? this.#app.clock.now() + SETTLE_MS : null,
      })
    })
  }
}

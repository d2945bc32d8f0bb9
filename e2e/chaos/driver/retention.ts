/**
 * Follows the builds of a run in which retention deletes logs and builds: reads each build before its log may be deleted, and records what is missing
 * and when.
 */
import { isFinalBuild } from '@windlass/plan'
import type { ApiClient } from '@windlass/client'
import type { Build } from '@windlass/protocol'
import { isFault, systemClock as clock } from '@windlass/kit'
import { LOOK_MS } from '../history/check-builds.ts'
import type { BuildRecord, History, Operation, Removal, RetentionTrace } from '../history/history.ts'
import { collectBuild, listBuilds } from './collect.ts'

/** Ages from which logs and builds are deleted. Milliseconds. */
export type RetentionLimits = Pick<RetentionTrace, 'logMs' | 'buildMs'>

/** How often the servers of such a run delete old data. Milliseconds. */
export const RETAIN_MS = 300
/** Age at which a build is read, as a share of the age from which its log is deleted. */
const READ_AT = 0.5
const AT_ONCE = 8
export interface RetentionWatch {
  /** Counters of the report so far: the builds that were read by their states, and the builds that were removed. */
  counts(): Record<string, number>
  /** Resolves when every ended build is read, or was not read in time. */
  readAll(): Promise<void>
  /** Returns the builds that were read, and what was deleted. */
  result(): Promise<{ readonly builds: readonly BuildRecord[]; readonly trace: RetentionTrace }>
  /**
   * Returns the builds that this process did not read in time, or did not see because no list of builds arrived for as long as a build is kept. Nothing
   * is known of them. A build that one list after its trigger did not have is not among them.
   */
  late(operations: readonly Operation[]): ReadonlySet<string>
  /** Number of builds that were not seen ended, or not at all, because of such a pause. A run with more than a few of them proves nothing. */
  unseen(operations: readonly Operation[]): number
}

/** Starts to follow the builds, until `signal` is aborted. */
export function watchRetention(client: ApiClient, limits: RetentionLimits, signal: AbortSignal): RetentionWatch {
  const watch = new Watch(client, limits)
  void watch.follow(signal)
  return watch
}

interface Seen {
  readonly build: Build
  readonly at: number
}

class Watch implements RetentionWatch {
  /** Times between which no list of builds was made, if that was long enough for a build to end and to be deleted. */
  readonly #gaps: { readonly from: number; readonly to: number }[] = []
  readonly #late = new Set<string>()
  readonly #goneLive = new Set<string>()
  readonly #client: ApiClient
  readonly #limits: RetentionLimits
  readonly #seen = new Map<string, Seen>()
  readonly #records = new Map<string, BuildRecord>()
  readonly #removed = new Map<string, Removal>()
  #lookedAt = clock.now()

  constructor(client: ApiClient, limits: RetentionLimits) {
    this.#client = client
    this.#limits = limits
  }

  /** Lists and reads side by side: a feed that takes long to read must not hide builds that begin and go meanwhile. */
  async follow(signal: AbortSignal): Promise<void> {
    const repeat = async (action: () => Promise<void>): Promise<void> => {
      while (!signal.aborted) {
        await action()
        await clock.sleep(LOOK_MS, signal).catch(() => undefined)
      }
    }
    await Promise.all([repeat(() => this.#look()), repeat(() => this.#readDue())])
  }

  late(operations: readonly Operation[]): ReadonlySet<string> {
    return new Set([...this.#late, ...this.#goneLive, ...this.#neverSeen(operations)])
  }

  unseen(operations: readonly Operation[]): number {
    return this.#goneLive.size + this.#neverSeen(operations).length
  }

  /** Builds whose trigger was answered after the last list before a gap, which was long enough for them to go. */
  #neverSeen(operations: readonly Operation[]): string[] {
    const isExcused = ({ at, endedAt }: Operation): boolean =>
      this.#gaps.some(({ from, to }) => from <= endedAt && to - Math.max(from, at) >= this.#limits.buildMs)
    const unseen = operations.filter(({ buildId }) => buildId !== undefined && !this.#seen.has(buildId))
    return unseen.filter(isExcused).flatMap(({ buildId }) => buildId ?? [])
  }

  counts(): Record<string, number> {
    const counts: Record<string, number> = { success: 0, 'removed builds': this.#removed.size }
    for (const { status } of this.#records.values()) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  async readAll(): Promise<void> {
    // A build that ended a moment ago is still live in the last list.
    const now = clock.now()
    while (this.#lookedAt <= now || this.#unread().length > 0) await clock.sleep(LOOK_MS)
  }

  async result(): Promise<{ builds: readonly BuildRecord[]; trace: RetentionTrace }> {
    await this.#look()
    const expired: Removal[] = []
    for (const [id, { build, at: seenAt }] of this.#seen) {
      if (this.#removed.has(id)) continue
      const isExpired = await this.#isExpired(id)
      if (isExpired) expired.push({ buildId: id, finishedAt: build.finishedAt, seenAt, at: clock.now() })
    }
    return { builds: [...this.#records.values()], trace: { ...this.#limits, removed: [...this.#removed.values()], expired } }
  }

  /** Lists the builds once. Does nothing while no server answers. */
  async #look(): Promise<void> {
    const askedAt = clock.now()
    const builds = await listBuilds(this.#client, 30_000).catch(() => undefined)
    if (builds === undefined) return
    const at = clock.now()
    const isGap = at - this.#lookedAt >= this.#limits.buildMs
    if (isGap) this.#gaps.push({ from: this.#lookedAt, to: at })
    this.#lookedAt = askedAt
    const listed = new Set(builds.map(({ id }) => id))
    for (const [id, { build, at: seenAt }] of this.#seen) {
      if (listed.has(id) || this.#removed.has(id)) continue
      this.#removed.set(id, { buildId: id, finishedAt: build.finishedAt, seenAt, at })
      if (isGap && !isFinalBuild(build.status)) this.#goneLive.add(id)
    }
    for (const build of builds) this.#seen.set(build.id, { build, at: askedAt })
  }

  /** Reads the ended builds whose log is soon deleted. */
  async #readDue(): Promise<void> {
    const now = clock.now()
    const due = this.#unread().filter(({ finishedAt = now }) => now - finishedAt > this.#limits.logMs * READ_AT)
    for (let n = 0; n < due.length; n += AT_ONCE) await Promise.all(due.slice(n, n + AT_ONCE).map((build) => this.#read(build)))
  }

  #unread(): Build[] {
    const ended = [...this.#seen.values()].map(({ build }) => build).filter(({ status }) => isFinalBuild(status))
    return ended.filter(({ id }) => !this.#records.has(id) && !this.#late.has(id))
  }

  async #read({ id, finishedAt = 0 }: Build): Promise<void> {
    const record = await collectBuild(this.#client, id).catch(() => undefined)
    if (clock.now() - finishedAt >= this.#limits.logMs) this.#late.add(id)
    else if (record !== undefined) this.#records.set(id, record)
  }

  async #isExpired(id: string): Promise<boolean> {
    try {
      const { items } = await this.#client.builds.feed(id)
      return items.some((item) => item.kind === 'event' && item.type === 'log.expired')
    } catch (error) {
      if (isFault(error, 'not-found')) return false
      throw error
    }
  }
}

/** Returns the history without these builds. */
export function withoutBuilds(history: History, ids: ReadonlySet<string>): History {
  const isKept = ({ buildId }: { readonly buildId?: string }): boolean => buildId === undefined || !ids.has(buildId)
  return {
    ...history,
    operations: history.operations.filter(isKept),
    engines: history.engines.filter(isKept),
    builds: history.builds.filter(({ id }) => !ids.has(id)),
    sightings: history.sightings.filter(isKept),
    leftovers: history.leftovers.filter(isKept),
    ...(history.harms !== undefined && { harms: history.harms.filter(isKept) }),
  }
}

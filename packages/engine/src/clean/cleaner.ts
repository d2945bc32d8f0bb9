/**
 * Keeps the disk of a build from filling up, over the Docker API. Pure functions of `volumes/clean` decide what to remove. During the build, a full
 * disk is cleaned step by step. If a clean-up is due when the build ends, the list of removals is left to the daemon's pod, which runs it after the
 * containers are gone. What remains then is removed during the next build.
 */
import {
  chooseImages,
  choosePurge,
  chooseVolumes,
  dueReason,
  isTooFull,
  MEASURES,
  readCleanSettings,
  readRemovals,
  UseHistory,
  usesOf,
  writeRemovals,
  type CleanSettings,
  type DaemonState,
  type DiskFacts,
  type Measure,
  type Removal,
} from '@windlass/volumes/clean'
import type { AttemptContext } from '../attempt/context.ts'
import { carryOut, readDaemon, removeEnded, type CarryOut } from './carry-out.ts'
import { openDiskRecord, type DiskRecord } from './disk-record.ts'
import type { ImageClaims } from './image-claims.ts'
import { followUses, type UseLog } from './use-log.ts'

export interface DiskCleaner {
  /**
   * Records what the build used and what to remove after it. Must be called before the end of the attempt is reported. Stops the watch. Takes
   * milliseconds, at most 5 s with a slow daemon.
   */
  wrapUp(): Promise<void>
}

export interface CleanerOptions {
  readonly claims: ImageClaims
  /** Aborted at the end of the attempt. */
  readonly signal: AbortSignal
  /** Writes a line to the log of the build. */
  readonly say: (line: string) => Promise<void>
}

/** Delay before the cleaner starts, so that it does not slow down the first step. Milliseconds. */
const BEGIN_MS = 1_000
const EVERY_MS = 5_000
/** Delay when nothing more can be removed. Milliseconds. */
const IDLE_MS = 60_000
const WRAP_UP_MS = 5_000

/** Starts in the background. Does nothing if the daemon is not in one of our pods. */
export function startCleaner(context: AttemptContext, options: CleanerOptions): DiskCleaner {
  return new Cleaner(context, options)
}

class Cleaner implements DiskCleaner {
  readonly #context: AttemptContext
  readonly #claims: ImageClaims
  readonly #say: CleanerOptions['say']
  readonly #end = new AbortController()
  readonly #skipDelay = new AbortController()
  readonly #uses: UseLog
  readonly #record: Promise<DiskRecord | undefined>

  constructor(context: AttemptContext, { claims, say, signal }: CleanerOptions) {
    this.#context = context
    this.#claims = claims
    this.#say = say
    signal.addEventListener('abort', () => this.#end.abort(), { once: true })
    this.#uses = followUses(context, this.#end.signal)
    const begin = context.clock.sleep(BEGIN_MS, this.#skipDelay.signal).catch(() => undefined)
    this.#record = begin.then(() => openDiskRecord(context))
    this.#run().catch((error: unknown) => {
      if (!this.#end.signal.aborted) context.log.warn({ err: error }, 'disk cleaner stopped')
    })
  }

  async wrapUp(): Promise<void> {
    const { clock, log } = this.#context
    this.#skipDelay.abort()
    const done = this.#recordEnd().catch((error: unknown) => log.warn({ err: error }, 'disk usage not recorded'))
    await Promise.race([done, clock.sleep(WRAP_UP_MS, this.#end.signal).catch(() => undefined)])
    this.#end.abort()
  }

  async #run(): Promise<void> {
    const record = await this.#record
    const facts = await record?.facts()
    if (record === undefined || facts === undefined) return this.#end.abort()
    const { settings, ignored } = readCleanSettings(facts.variables)
    if (ignored.length > 0) this.#context.log.warn({ ignored }, 'ignored invalid settings of the disk cleaner')
    if (facts.leftOver) await this.#finishLastCleanUp(record, facts)
    while (settings.watch) {
      const { log, clock } = this.#context
      const isStuck = await this.#clean(record).catch((error: unknown) => log.warn({ err: error }, 'disk cleaner failed'))
      await clock.sleep(isStuck === true ? IDLE_MS : EVERY_MS, this.#end.signal)
    }
  }

  /** Removes what the clean-up after the previous build had no time for. */
  async #finishLastCleanUp(record: DiskRecord, facts: DiskFacts): Promise<void> {
    const { settings } = readCleanSettings(facts.variables)
    const state = await readDaemon(this.#context, this.#claims)
    const list = readRemovals(await record.read('left-over')).filter((removal) => !isInUse(state, removal))
    await carryOut(this.#carryOut(settings), list)
    if (this.#end.signal.aborted || settings.dryRun) return
    await record.write({ 'left-over': '', last_cleaned_ts: `${this.#now()}\n`, last_cleaned_pod: `${facts.pod}\n` })
  }

  /** Cleans the disk while it is too full. Returns true if it stays full and nothing was removed. */
  async #clean(record: DiskRecord): Promise<boolean> {
    let total = 0
    for (const measure of MEASURES) {
      const facts = await record.facts()
      if (facts === undefined) return false
      const { settings } = readCleanSettings(facts.variables)
      if (!isTooFull(facts.usage, settings)) return false
      const removed = await this.#apply(measure, settings, record)
      total += removed
      // This write fails too on a full disk.
      await this.#count(record, COUNTERS[measure]).catch((error: unknown) =>
        this.#context.log.debug({ err: error }, 'not counted'),
      )
      if (removed === 0) continue
      await this.#say(`The disk of the build is ${percent(facts.usage)} full: removed ${removed} ${DESCRIPTIONS[measure]}.`)
      // The daemon's pod measures the disk every 5 s.
      await this.#context.clock.sleep(EVERY_MS + 1_000, this.#end.signal)
    }
    if (total === 0)
      await this.#say('The disk of the build is nearly full, and nothing more can be removed while the build runs.')
    return total === 0
  }

  async #count(record: DiskRecord, counter: string): Promise<void> {
    const count = Number((await record.read(counter)).trim() || 0) + 1
    await record.write({ [counter]: `${count}\n` })
  }

  async #apply(measure: Measure, settings: CleanSettings, record: DiskRecord): Promise<number> {
    if (measure === 'containers') return settings.dryRun ? 0 : removeEnded(this.#context)
    const state = await readDaemon(this.#context, this.#claims)
    const nowSeconds = this.#now()
    if (measure === 'purge') {
      const images = choosePurge(state, nowSeconds).map(({ id }): Removal => ({ kind: 'image', id }))
      return carryOut(this.#carryOut(settings), [...images, { kind: 'cache', keepBytes: 0 }])
    }
    const choice = { history: await this.#history(record), settings, nowSeconds }
    const removals =
      measure === 'volumes'
        ? chooseVolumes(state, choice).map(({ name }): Removal => ({ kind: 'volume', name }))
        : chooseImages(state, choice).map(({ id }): Removal => ({ kind: 'image', id }))
    return carryOut(this.#carryOut(settings), removals)
  }

  async #recordEnd(): Promise<void> {
    const record = await this.#record
    const facts = await record?.facts()
    if (record === undefined || facts === undefined) return
    this.#recordOwnUses()
    const { settings } = readCleanSettings(facts.variables)
    const events = { [`events/${this.#now()}`]: this.#uses.text() }
    const due = dueReason(facts, settings, this.#now())
    if (due === undefined) return record.write(events)
    const removals = await this.#removalsAtEnd(record, facts, settings)
    this.#context.log.info({ reason: due, removals: removals.length }, 'a clean-up of the disk is due')
    await record.write({ ...events, 'to-remove': writeRemovals(removals) })
  }

  async #removalsAtEnd(record: DiskRecord, facts: DiskFacts, settings: CleanSettings): Promise<Removal[]> {
    const state = await readDaemon(this.#context, this.#claims)
    const choice = { history: await this.#history(record), settings, nowSeconds: this.#now() }
    return [
      ...chooseVolumes(state, choice).map(({ name }): Removal => ({ kind: 'volume', name })),
      ...chooseImages(state, choice).map(({ id }): Removal => ({ kind: 'image', id })),
      { kind: 'cache', keepBytes: settings.cacheShare * facts.totalBytes },
    ]
  }

  /** Adds uses that cause no event: images that were on the disk already, and the shared volume. */
  #recordOwnUses(): void {
    const at = this.#now()
    const images = this.#claims.claimed().map((name) => ({ kind: 'image', name, at }) as const)
    this.#uses.history.add([...images, { kind: 'volume', name: this.#context.input.volumeName, at }])
  }

  async #history(record: DiskRecord): Promise<UseHistory> {
    this.#recordOwnUses()
    const history = new UseHistory()
    history.add((await record.read('events')).split('\n').flatMap(usesOf))
    history.add(this.#uses.history.all())
    return history
  }

  #carryOut({ dryRun }: CleanSettings): CarryOut {
    const { docker, clock, log } = this.#context
    return { docker, claims: this.#claims, clock, log, dryRun, signal: this.#end.signal }
  }

  #now(): number {
    return Math.floor(this.#context.clock.now() / 1000)
  }
}

/** Counter files for the daemon's metrics. */
const COUNTERS: Readonly<Record<Measure, string>> = {
  containers: 'cleaner_agent_actions_containers',
  volumes: 'cleaner_agent_actions_volumes',
  images: 'cleaner_agent_actions_images',
  purge: 'cleaner_agent_actions_purges',
}
const DESCRIPTIONS: Readonly<Record<Measure, string>> = {
  containers: 'exited containers',
  volumes: 'volumes that were not used recently',
  images: 'images that were not used recently',
  purge: 'unused images and caches',
}

function isInUse(state: DaemonState, removal: Removal): boolean {
  if (removal.kind === 'volume') return state.volumesInUse.has(removal.name)
  return removal.kind === 'image' && state.imagesInUse.has(removal.id)
}

function percent({ disk, inodes }: DiskFacts['usage']): string {
  return `${Math.round(Math.max(disk, inodes) * 100)} %`
}

/**
 * Keeps the disk of a build from filling up, over the Docker API. What may go is decided by pure functions of `volumes/clean`. During the
 * build a full disk is emptied step by step; when the build ends and a clean-up is due, what has to go is left as a list to the daemon's
 * pod, which removes it after the containers are gone; what that had no time for is removed while the next build runs.
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
  /** Notes what the build used, and what has to go after it. To be called before its end is told; ends the watch; takes milliseconds, or five seconds with a daemon that is slow. */
  wrapUp(): Promise<void>
}

export interface CleanerOptions {
  readonly claims: ImageClaims
  /** Aborted when the attempt is over. */
  readonly signal: AbortSignal
  /** Tells people what was done. */
  readonly say: (line: string) => Promise<void>
}

/** The first step of a build is not kept waiting for the cleaner's work. */
const BEGIN_MS = 1_000
const EVERY_MS = 5_000
/** When nothing more can be removed. */
const REST_MS = 60_000
const WRAP_UP_MS = 5_000

/** Starts in the background; does nothing on a daemon that is not of one of our pods. */
export function startCleaner(context: AttemptContext, options: CleanerOptions): DiskCleaner {
  return new Cleaner(context, options)
}

class Cleaner implements DiskCleaner {
  readonly #context: AttemptContext
  readonly #claims: ImageClaims
  readonly #say: CleanerOptions['say']
  readonly #end = new AbortController()
  readonly #hurry = new AbortController()
  readonly #uses: UseLog
  readonly #record: Promise<DiskRecord | undefined>

  constructor(context: AttemptContext, { claims, say, signal }: CleanerOptions) {
    this.#context = context
    this.#claims = claims
    this.#say = say
    signal.addEventListener('abort', () => this.#end.abort(), { once: true })
    this.#uses = followUses(context, this.#end.signal)
    const begin = context.clock.sleep(BEGIN_MS, this.#hurry.signal).catch(() => undefined)
    this.#record = begin.then(() => openDiskRecord(context))
    this.#run().catch((error: unknown) => {
      if (!this.#end.signal.aborted) context.log.warn({ err: error }, 'disk cleaner stopped')
    })
  }

  async wrapUp(): Promise<void> {
    const { clock, log } = this.#context
    this.#hurry.abort()
    const done = this.#noteEnd().catch((error: unknown) => log.warn({ err: error }, 'the use of the disk is not noted'))
    await Promise.race([done, clock.sleep(WRAP_UP_MS, this.#end.signal).catch(() => undefined)])
    this.#end.abort()
  }

  async #run(): Promise<void> {
    const record = await this.#record
    const facts = await record?.facts()
    if (record === undefined || facts === undefined) return this.#end.abort()
    const { settings, ignored } = readCleanSettings(facts.variables)
    if (ignored.length > 0) this.#context.log.warn({ ignored }, 'settings of the disk cleaner make no sense')
    if (facts.leftOver) await this.#finishLast(record, facts)
    while (settings.watch) {
      const { log, clock } = this.#context
      const isStuck = await this.#look(record).catch((error: unknown) => log.warn({ err: error }, 'disk cleaner failed'))
      await clock.sleep(isStuck === true ? REST_MS : EVERY_MS, this.#end.signal)
    }
  }

  /** The clean-up of the build before ran out of time. */
  async #finishLast(record: DiskRecord, facts: DiskFacts): Promise<void> {
    const { settings } = readCleanSettings(facts.variables)
    const state = await readDaemon(this.#context, this.#claims)
    const list = readRemovals(await record.read('left-over')).filter((removal) => !isInUse(state, removal))
    await carryOut(this.#carryOut(settings), list)
    if (this.#end.signal.aborted || settings.dryRun) return
    await record.write({ 'left-over': '', last_cleaned_ts: `${this.#now()}\n`, last_cleaned_pod: `${facts.pod}\n` })
  }

  /** Empties the disk while it is too full; true when it stays so and nothing was removed. */
  async #look(record: DiskRecord): Promise<boolean> {
    let total = 0
    for (const measure of MEASURES) {
      const facts = await record.facts()
      if (facts === undefined) return false
      const { settings } = readCleanSettings(facts.variables)
      if (!isTooFull(facts.usage, settings)) return false
      const removed = await this.#take(measure, settings, record)
      total += removed
      // A full disk has no room for that either.
      await this.#count(record, COUNTERS[measure]).catch((error: unknown) =>
        this.#context.log.debug({ err: error }, 'not counted'),
      )
      if (removed === 0) continue
      await this.#say(`The disk of the build is ${percent(facts.usage)} full: removed ${removed} ${WHAT[measure]}.`)
      // The daemon's pod looks every 5 s.
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

  async #take(measure: Measure, settings: CleanSettings, record: DiskRecord): Promise<number> {
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

  async #noteEnd(): Promise<void> {
    const record = await this.#record
    const facts = await record?.facts()
    if (record === undefined || facts === undefined) return
    this.#noteOwn()
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

  /** Uses that no event tells: images that were on the disk already, and the shared volume. */
  #noteOwn(): void {
    const at = this.#now()
    const images = this.#claims.claimed().map((name) => ({ kind: 'image', name, at }) as const)
    this.#uses.history.add([...images, { kind: 'volume', name: this.#context.input.volumeName, at }])
  }

  async #history(record: DiskRecord): Promise<UseHistory> {
    this.#noteOwn()
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

/** Files that count what was done, for the daemon's metrics. */
const COUNTERS: Readonly<Record<Measure, string>> = {
  containers: 'cleaner_agent_actions_containers',
  volumes: 'cleaner_agent_actions_volumes',
  images: 'cleaner_agent_actions_images',
  purge: 'cleaner_agent_actions_purges',
}
const WHAT: Readonly<Record<Measure, string>> = {
  containers: 'containers that had ended',
  volumes: 'volumes that were not used lately',
  images: 'images that were not used lately',
  purge: 'images and caches that are not in use',
}

function isInUse(state: DaemonState, removal: Removal): boolean {
  if (removal.kind === 'volume') return state.volumesInUse.has(removal.name)
  return removal.kind === 'image' && state.imagesInUse.has(removal.id)
}

function percent({ disk, inodes }: DiskFacts['usage']): string {
  return `${Math.round(Math.max(disk, inodes) * 100)} %`
}

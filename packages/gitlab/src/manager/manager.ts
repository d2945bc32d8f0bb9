/** The manager of GitLab runners: reads the configuration, asks for jobs, runs them, and stops in the ways of the original. */
import { mkdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { attempt, defined, isAbort, type Clock, type Logger } from '@windlass/kit'
import type { RunnerConfig } from '../config/schema.ts'
import { systemIdFor } from '../config/system-id.ts'
import type { EntryState } from '../feed/feed-entry.ts'
import { openFeed, type Feed, type ReceivedJob } from '../feed/feed.ts'
import { openConfigSource, type ConfigSource } from './config-source.ts'
import { entryKey, feedEntry, openEntry, runnerNames, type Entry, type RunnerNames } from './entry.ts'
import { openJobRunner, type JobRunner } from './job-runner.ts'
import { openJobViews, type JobListener, type JobView } from './views/job-view.ts'
import { openPlaces } from './plan/places.ts'
import { openRotations, type Rotations } from './rotations.ts'
import { instanceName } from './sites/instance-name.ts'
import type { FoundJob, Site } from './sites/site.ts'
import { gitlabUrl } from './views/shown-job.ts'
import { openSites, type Sites } from './sites/sites.ts'
import { NO_TERMINALS, openTerminals, type Terminals } from './terminals.ts'

export interface ManagerOptions {
  readonly configFile: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly version: string
  readonly revision: string
  /** Image of the helper, unless the configuration names one. */
  readonly helperImage: string
  /** Folder for traces that are being sent. */
  readonly spoolFolder: string
  readonly clock: Clock
  readonly log: Logger
}

export interface ManagerState {
  readonly isReady: boolean
  /** False from the time at which it was told to stop or to park. */
  readonly isAsking: boolean
  /** False if a loop of the manager is stuck, so that only a new process asks for jobs again. */
  readonly isLive: boolean
  readonly concurrent: number
  readonly jobs: readonly JobView[]
  /** Runners of the configuration that have a token. */
  readonly runners: readonly { readonly name: string; readonly gitlab: string }[]
  readonly entries: readonly (EntryState & RunnerNames)[]
  /** Number of open terminals. Absent if the manager serves none. */
  readonly terminals?: number
}

export interface Manager {
  readonly systemId: string
  /** Reads the configuration again. A file that is not valid changes nothing. */
  reload(): void
  /** Asks for no more jobs. When those that run have ended, nothing of this manager is left in the cluster, and it is not ready. */
  park(): Promise<void>
  /** Asks for no more jobs, and resolves when those that run have ended. */
  drain(): Promise<void>
  /** Ends the jobs that run as interrupted, and resolves when the coordinator knows it. */
  interrupt(): Promise<void>
  /** Stops at once. Jobs that run are continued by a manager that starts later. */
  close(): Promise<void>
  state(): ManagerState
  /** Calls back after each change of a job. Returns a function that ends the calls. */
  follow(listener: JobListener): () => void
}

const CHECK_INTERVAL_S = 3

/** Starts the manager. Throws `config-invalid` and `file-not-found` for a configuration that cannot be used. */
export async function openManager(options: ManagerOptions): Promise<Manager> {
  const manager = new GitlabManager(options)
  await manager.start()
  return manager
}

class GitlabManager implements Manager {
  readonly systemId: string
  readonly #options: ManagerOptions
  readonly #stop = new AbortController()
  readonly #interrupted = new AbortController()
  readonly #entries = new Map<string, Entry>()
  readonly #sites: Sites
  readonly #rotations: Rotations
  readonly #places = openPlaces()
  readonly #views
  readonly #runner: JobRunner
  readonly #resumed = new Set<Promise<void>>()
  readonly #source: ConfigSource
  #config: RunnerConfig
  #terminals: Terminals = NO_TERMINALS
  #feed: Feed | undefined
  #watching: Promise<void> = Promise.resolve()
  #isParked = false
  #isStopping = false

  constructor(options: ManagerOptions) {
    const { configFile, env, clock, log } = options
    this.#options = options
    this.#source = openConfigSource(configFile, { clock, log })
    this.#config = this.#source.load()
    this.systemId = systemIdFor(configFile, env)
    this.#rotations = openRotations({ configFile, clock, log, signal: this.#stop.signal })
    const instance = instanceName(this.systemId)
    this.#views = openJobViews(() => clock.now())
    mkdirSync(options.spoolFolder, { recursive: true, mode: 0o700 })
    this.#sites = openSites({
      instance,
      host: hostname(),
      env,
      clock,
      log,
      isFollowed: (pod) => this.#runner.isFollowed(pod),
      onTaken: (pod) => this.#runner.leave(pod),
      // A manager that ends its own jobs would end those as well.
      accepts: ({ runner }) => !this.#interrupted.signal.aborted && this.#byRunner(runner) !== undefined,
      onFound: (site, found) => this.#resume(site, found),
    })
    this.#runner = openJobRunner({
      systemId: this.systemId,
      instance,
      managerName: hostname(),
      version: options.version,
      revision: options.revision,
      helperImage: options.helperImage,
      env,
      spoolFolder: options.spoolFolder,
      clock,
      log,
      places: this.#places,
      views: this.#views,
      interrupted: this.#interrupted.signal,
      signal: this.#stop.signal,
      siteOf: (entry) => this.#sites.of(entry),
    })
  }

  async start(): Promise<void> {
    const { clock, log } = this.#options
    this.#terminals = await openTerminals(() => this.#config, { clock, log })
    this.#setEntries()
    // Jobs of a manager that is gone come before new ones. A cluster that is away only delays them.
    for (const entry of this.#entries.values()) await attempt(log, 'cluster', () => this.#sites.of(entry))
    this.#feed = openFeed({
      ...limitsOf(this.#config),
      entries: [...this.#entries.values()].map(feedEntry),
      clock,
      log,
      request: (key, call) =>
        this.#terminals.request(key, (session) =>
          this.#entryOf(key).coordinator.requestJob({ ...call, systemId: this.systemId, session }),
        ),
      onJob: (received) => this.#run(received),
      onQueued: (received) => this.#runner.queue(this.#entryOf(received.key), received),
    })
    this.#watching = this.#source.watch(() => this.reload(), this.#stop.signal)
    log.info(
      { systemId: this.systemId, runners: this.#entries.size, concurrent: this.#config.concurrent },
      'the manager is ready',
    )
  }

  #entryOf(key: string): Entry {
    const entry = this.#entries.get(key)
    if (entry === undefined) throw new Error(`the runner entry ${key} is not known`)
    return entry
  }

  #run(received: ReceivedJob): Promise<void> {
    const { id, job_info: info } = received.job
    this.#options.log.info({ job: id, project: info.project_full_path, correlation_id: received.correlationId }, 'received a job')
    return this.#runner.run(this.#entryOf(received.key), received, this.#terminals.take(received.key, id))
  }

  /** Opens entries of the configuration that are new. Those that were removed stay for the jobs that they run. */
  #setEntries(): void {
    const { log, configFile, version, revision, clock } = this.#options
    const { signal } = this.#stop
    const wanted = new Set<string>()
    for (const section of this.#config.runners) {
      if (section.token === undefined || section.token === '') {
        log.warn({ runner: section.name }, 'the runner has no token and gets no jobs; add one with `windlass gitlab register`')
        continue
      }
      const key = entryKey(section)
      wanted.add(key)
      const known = this.#entries.get(key)
      if (known !== undefined && JSON.stringify(known.runner) === JSON.stringify(section)) continue
      const { hasServer: hasTerminals } = this.#terminals
      const opened = openEntry(section, this.#config, { configFile, version, revision, hasTerminals, clock, log, signal })
      this.#entries.set(key, opened)
      if (known !== undefined) this.#sites.forget(known)
      this.#rotations.start(opened)
    }
    this.#rotations.keep(wanted)
  }

  #byRunner(runnerKey: string): Entry | undefined {
    return [...this.#entries.values()].find((entry) => entry.runnerKey === runnerKey)
  }

  #resume(site: Site, found: FoundJob): void {
    const entry = this.#byRunner(found.record.runner)
    // Another look may have found it at the same time.
    if (entry === undefined || this.#runner.isFollowed(found.record.pod)) return
    const free = this.#runner.isOver(found.record.pod) ? undefined : this.#feed?.occupy(entry.key)
    const task = this.#runner
      .resume(entry, site, found)
      .catch((error: unknown) => {
        if (!isAbort(error)) this.#options.log.error({ err: error, job: found.record.jobId }, 'cannot continue the job')
      })
      .finally(() => {
        free?.()
        this.#resumed.delete(task)
      })
    this.#resumed.add(task)
  }

  reload(): void {
    const { configFile, log } = this.#options
    try {
      this.#config = this.#source.load()
      this.#setEntries()
    } catch (error) {
      log.error(
        { err: error, file: configFile },
        'the configuration is not valid; the manager keeps the last one. Check it with `windlass gitlab validate`',
      )
      return
    }
    const wanted = new Set(this.#config.runners.map(entryKey))
    const entries = [...this.#entries.values()].filter(({ key }) => wanted.has(key)).map(feedEntry)
    this.#feed?.setEntries(entries, limitsOf(this.#config))
    log.info({ runners: entries.length, concurrent: this.#config.concurrent }, 'the configuration was read again')
  }

  async park(): Promise<void> {
    await this.#idle()
    await this.#sites.close()
    this.#isParked = true
  }

  /** Asks for no more jobs, and resolves when those that run have ended. */
  async #idle(): Promise<void> {
    this.#isStopping = true
    // A manager that waits for its jobs does not wait for users.
    this.#terminals.release()
    await this.#feed?.drain()
    while (this.#resumed.size > 0) await Promise.all(this.#resumed)
    await this.#runner.tidied()
  }

  async drain(): Promise<void> {
    await this.#idle()
    await this.close()
  }

  async interrupt(): Promise<void> {
    this.#feed?.pause()
    this.#interrupted.abort()
    await this.drain()
  }

  async close(): Promise<void> {
    await this.#terminals.close()
    this.#stop.abort(new DOMException('the manager stops', 'AbortError'))
    await this.#feed?.close()
    await this.#sites.close()
    await this.#watching
    for (const { coordinator } of this.#entries.values()) coordinator.close()
    this.#sites.disconnect()
  }

  #isLive(): boolean {
    // A manager that stops ends by itself. Before its loops begin, it may wait for a cluster.
    if (this.#stop.signal.aborted || this.#feed === undefined) return true
    return this.#feed.isTurning() && this.#source.isCurrent()
  }

  follow(listener: JobListener): () => void {
    return this.#views.follow(listener)
  }

  state(): ManagerState {
    const isReady = this.#feed !== undefined && !this.#isParked && !this.#stop.signal.aborted
    return {
      isReady,
      isAsking: isReady && !this.#isStopping,
      isLive: this.#isLive(),
      concurrent: this.#config.concurrent,
      jobs: this.#views.list(),
      runners: this.#config.runners.flatMap((runner) =>
        runner.token === undefined || runner.token === '' ? [] : [{ name: runner.name ?? '', gitlab: gitlabUrl(runner) }],
      ),
      entries: (this.#feed?.state() ?? []).map((state) => ({ ...state, ...runnerNames(this.#entryOf(state.key)) })),
      ...defined({ terminals: this.#terminals.count() }),
    }
  }
}

function limitsOf({ concurrent, check_interval: interval = 0 }: RunnerConfig): { concurrent: number; checkIntervalMs: number } {
  return { concurrent, checkIntervalMs: (interval > 0 ? interval : CHECK_INTERVAL_S) * 1_000 }
}

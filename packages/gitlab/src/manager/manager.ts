/** The manager of GitLab runners: reads the configuration, asks for jobs, runs them, and stops in the ways of the original. */
import { randomUUID } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { attempt, isAbort, ticks, type Clock, type Logger } from '@windlass/kit'
import { openKube, type Kube } from '@windlass/kube'
import { loadConfig } from '../config/config-file.ts'
import type { RunnerConfig } from '../config/schema.ts'
import { storeToken } from '../config/store-token.ts'
import { systemIdFor } from '../config/system-id.ts'
import { runRotation } from '../coordinator/rotation.ts'
import { openFeed, type Feed, type ReceivedJob } from '../feed/feed.ts'
import { accessKey, clusterAccess } from './access.ts'
import { entryKey, feedEntry, openEntry, type Entry } from './entry.ts'
import { openJobRunner, type JobRunner } from './job-runner.ts'
import { openJobViews, type JobView } from './job-view.ts'
import { openPlaces } from './places.ts'
import { openSite, type FoundJob, type Site } from './site.ts'

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
  readonly concurrent: number
  readonly jobs: readonly JobView[]
  readonly entries: ReturnType<Feed['state']>
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
}

/** How often the file of the configuration is looked at. Milliseconds. */
const RELOAD_MS = 3_000
const CHECK_INTERVAL_S = 3
/** Calls per second to the API of the cluster, and how many at once. */
const QPS = { qps: 50, burst: 100 }

/** Starts the manager. Throws `config-invalid` and `file-not-found` for a configuration that cannot be used. */
export async function openManager(options: ManagerOptions): Promise<Manager> {
  const manager = new GitlabManager(options)
  await manager.start()
  return manager
}

interface Cluster {
  /** The same for entries that share its connections. */
  readonly key: string
  readonly kube: Kube
  /** Namespace of jobs that name none. */
  readonly namespace: string
}

class GitlabManager implements Manager {
  readonly systemId: string
  readonly #options: ManagerOptions
  readonly #stop = new AbortController()
  readonly #interrupted = new AbortController()
  readonly #entries = new Map<string, Entry>()
  readonly #kubes = new Map<string, Kube>()
  readonly #clusters = new Map<Entry, Promise<Cluster>>()
  readonly #sites = new Map<string, Site>()
  readonly #rotations = new Map<string, AbortController>()
  readonly #holder = `${hostname()}-${randomUUID().slice(0, 8)}`
  readonly #places = openPlaces()
  readonly #views
  readonly #runner: JobRunner
  readonly #resumed = new Set<Promise<void>>()
  #config: RunnerConfig
  #stamp: string
  #feed: Feed | undefined
  #watching: Promise<void> = Promise.resolve()
  #isParked = false

  constructor(options: ManagerOptions) {
    const { configFile, env, clock, log } = options
    this.#options = options
    this.#config = loadConfig(configFile).config
    this.#stamp = stampOf(configFile)
    this.systemId = systemIdFor(configFile, env)
    this.#views = openJobViews(() => clock.now())
    mkdirSync(options.spoolFolder, { recursive: true, mode: 0o700 })
    this.#runner = openJobRunner({
      systemId: this.systemId,
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
      siteOf: (entry, namespace) => this.#siteOf(entry, namespace),
    })
  }

  async start(): Promise<void> {
    const { clock, log } = this.#options
    this.#setEntries()
    // Jobs of a manager that is gone come before new ones. A cluster that is away only delays them.
    for (const entry of this.#entries.values()) await attempt(log, 'cluster', () => this.#siteOf(entry))
    this.#feed = openFeed({
      ...limitsOf(this.#config),
      entries: [...this.#entries.values()].map(feedEntry),
      clock,
      log,
      request: (key, call) => this.#entryOf(key).coordinator.requestJob({ ...call, systemId: this.systemId }),
      onJob: (received) => this.#run(received),
    })
    this.#watching = this.#watchConfig()
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
    return this.#runner.run(this.#entryOf(received.key), received)
  }

  /** Opens entries of the configuration that are new. Those that were removed stay for the jobs that they run. */
  #setEntries(): void {
    const { log, configFile, version, revision, clock } = this.#options
    const { signal } = this.#stop
    const wanted = new Set<string>()
    for (const section of this.#config.runners) {
      if (section.token === undefined || section.token === '') {
        log.warn({ runner: section.name }, 'the runner has no token and is left out')
        continue
      }
      const key = entryKey(section)
      wanted.add(key)
      const known = this.#entries.get(key)
      if (known !== undefined && JSON.stringify(known.runner) === JSON.stringify(section)) continue
      const opened = openEntry(section, this.#config, { configFile, version, revision, clock, log, signal })
      this.#entries.set(key, opened)
      if (known !== undefined) this.#clusters.delete(known)
      this.#rotate(opened)
    }
    for (const [key, rotation] of this.#rotations)
      if (!wanted.has(key)) {
        rotation.abort()
        this.#rotations.delete(key)
      }
  }

  /** Renews the token of an entry before it expires. */
  #rotate(entry: Entry): void {
    const { log, clock, configFile } = this.#options
    this.#rotations.get(entry.key)?.abort()
    const stop = new AbortController()
    this.#rotations.set(entry.key, stop)
    const { token_obtained_at: from, token_expires_at: until } = entry.runner
    const dates =
      from === undefined || until === undefined ? undefined : { obtainedAt: Date.parse(from), expiresAt: Date.parse(until) }
    const isDisabled = entry.runner.feature_flags?.['FF_DISABLE_AUTOMATIC_TOKEN_ROTATION'] === true
    async function rotate(): Promise<void> {
      await storeToken(configFile, entry.runner, await entry.coordinator.resetToken(), clock.now())
      log.info({ runner: entry.runner.name }, 'renewed the token of the runner')
    }
    void runRotation({ dates: () => dates, rotate, isDisabled, clock, log }, AbortSignal.any([stop.signal, this.#stop.signal]))
  }

  /** Returns the site of an entry. Throws faults of its cluster. */
  async #siteOf(entry: Entry, namespace?: string): Promise<Site> {
    const cluster = await this.#clusterOf(entry)
    const name = namespace ?? cluster.namespace
    const key = `${cluster.key} ${name}`
    const site = this.#sites.get(key) ?? this.#openSite(cluster.kube, name)
    this.#sites.set(key, site)
    return site
  }

  /** Returns the cluster of an entry. Its access is read once: a kubeconfig may run a login command. A failure is tried again by the next call. */
  #clusterOf(entry: Entry): Promise<Cluster> {
    const known = this.#clusters.get(entry)
    if (known !== undefined) return known
    const opened = this.#openCluster(entry)
    this.#clusters.set(entry, opened)
    opened.catch(() => this.#clusters.delete(entry))
    return opened
  }

  async #openCluster({ runner }: Entry): Promise<Cluster> {
    const section = runner.kubernetes ?? {}
    const { clock, log, env } = this.#options
    const access = await clusterAccess(section, env)
    const key = accessKey(access, section)
    const kube = this.#kubes.get(key) ?? openKube({ access, log, clock, ...QPS })
    this.#kubes.set(key, kube)
    return { key, kube, namespace: section.namespace ?? access.namespace }
  }

  #openSite(kube: Kube, namespace: string): Site {
    const { clock, log } = this.#options
    const site = openSite({
      kube,
      namespace,
      systemId: this.systemId,
      holder: this.#holder,
      clock,
      log,
      isFollowed: (pod) => this.#runner.isFollowed(pod),
      onTaken: (pod) => this.#runner.leave(pod),
      accepts: ({ runner }) => this.#byRunner(runner) !== undefined,
      onFound: (found) => this.#resume(site, found),
    })
    return site
  }

  #byRunner(runnerKey: string): Entry | undefined {
    return [...this.#entries.values()].find((entry) => entry.runnerKey === runnerKey)
  }

  #resume(site: Site, found: FoundJob): void {
    const entry = this.#byRunner(found.record.runner)
    // Another look may have found it at the same time.
    if (entry === undefined || this.#runner.isFollowed(found.record.pod)) return
    const free = this.#feed?.occupy(entry.key)
    const task = this.#runner
      .resume(entry, site, found)
      .catch((error: unknown) => {
        if (!isAbort(error)) this.#options.log.error({ err: error, job: found.record.jobId }, 'the job cannot be continued')
      })
      .finally(() => {
        free?.()
        this.#resumed.delete(task)
      })
    this.#resumed.add(task)
  }

  async #watchConfig(): Promise<void> {
    for await (const _ of ticks(RELOAD_MS, { clock: this.#options.clock, signal: this.#stop.signal }))
      if (stampOf(this.#options.configFile) !== this.#stamp) this.reload()
  }

  reload(): void {
    const { configFile, log } = this.#options
    this.#stamp = stampOf(configFile)
    try {
      this.#config = loadConfig(configFile).config
      this.#setEntries()
    } catch (error) {
      log.error({ err: error, file: configFile }, 'the configuration is not valid; the manager goes on with the one that it has')
      return
    }
    const wanted = new Set(this.#config.runners.map(entryKey))
    const entries = [...this.#entries.values()].filter(({ key }) => wanted.has(key)).map(feedEntry)
    this.#feed?.setEntries(entries, limitsOf(this.#config))
    log.info({ runners: entries.length, concurrent: this.#config.concurrent }, 'the configuration was read again')
  }

  async park(): Promise<void> {
    await this.#idle()
    await this.#closeSites()
    this.#isParked = true
  }

  /** Asks for no more jobs, and resolves when those that run have ended. */
  async #idle(): Promise<void> {
    await this.#feed?.drain()
    while (this.#resumed.size > 0) await Promise.all(this.#resumed)
  }

  async #closeSites(): Promise<void> {
    const sites = [...this.#sites.values()]
    this.#sites.clear()
    await Promise.all(sites.map((site) => site.close()))
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
    this.#stop.abort(new DOMException('the manager stops', 'AbortError'))
    await this.#feed?.close()
    await this.#closeSites()
    await this.#watching
    for (const { coordinator } of this.#entries.values()) coordinator.close()
    for (const kube of this.#kubes.values()) kube.close()
  }

  state(): ManagerState {
    return {
      isReady: this.#feed !== undefined && !this.#isParked && !this.#stop.signal.aborted,
      concurrent: this.#config.concurrent,
      jobs: this.#views.list(),
      entries: this.#feed?.state() ?? [],
    }
  }
}

function limitsOf({ concurrent, check_interval: interval = 0 }: RunnerConfig): { concurrent: number; checkIntervalMs: number } {
  return { concurrent, checkIntervalMs: (interval > 0 ? interval : CHECK_INTERVAL_S) * 1_000 }
}

/** Changes with the file. */
function stampOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`
}

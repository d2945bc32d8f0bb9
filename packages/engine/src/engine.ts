/** One engine against a server: claims its attempt, runs it, reports, and ends. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openJournal, type Journal } from '@windlass/journal'
import { isFault, nodeTransport, type Clock, type Logger } from '@windlass/kit'
import { createClient, EngineEvent, type AttemptOutcome, type Client, type EngineClaimed } from '@windlass/protocol'
import type { AttemptOptions } from './attempt/input.ts'
import { readStoreSecrets } from './attempt/secret-stores.ts'
import { resolveDocument } from './attempt/resolve-document.ts'
import { runAttempt } from './attempt/run.ts'
import { withUserVariables } from './attempt/user-variables.ts'
import { withWebIdentity } from './attempt/web-identity.ts'
import { removeLeftovers } from './attempt/workspace.ts'
import { awaitDocker, type Docker } from './docker/docker.ts'
import { askDockerHost, awaitBuild, claim, compileDocument } from './report/claim.ts'
import { startDrain, type Drain } from './report/drain.ts'
import { keepLease, listen, type LeaseOptions } from './report/lease.ts'
import type { EngineMetrics } from './report/metrics.ts'
import { serverSink } from './report/server-sink.ts'
import { terminalLink } from './report/terminal-link.ts'

export interface EngineOptions {
  readonly serverUrl: string
  /** Credential for one exchange at `/v1/engine/claim`. */
  readonly bootstrap: string
  /** The server is asked for a build before anything is claimed; default false. */
  readonly isWarm?: boolean | undefined
  /** How to reach the daemon, see `DockerOptions`; and variables of the runtime for every step, see `withUserVariables`. */
  readonly dockerEnv: Readonly<Record<string, string | undefined>>
  /** Without DOCKER_HOST in `dockerEnv` the server is asked for the daemon's address instead of looking for a local one. */
  readonly askDockerHost?: boolean | undefined
  /** Where the daemon listens when its certificate comes with the claim and nobody else tells. */
  readonly dockerHost?: string | undefined
  /** A folder of this engine alone; removed when everything was acknowledged. */
  readonly spoolDir: string
  /** PEM file of further certificate authorities of the server. */
  readonly caFile?: string | undefined
  /** Most log bytes that wait in the spool for the server; steps are held up beyond. 4 GiB when absent. */
  readonly spoolBytes?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  /** Told what happens, where somebody wants numbers. */
  readonly metrics?: EngineMetrics | undefined
  readonly toolsImage?: string | undefined
  /** How long a debug run that does not say holds a step. */
  readonly debugTimeoutMs?: number | undefined
  /** How long the daemon may take to have the tools image before it is pulled; 0 when absent. */
  readonly toolsWaitMs?: number | undefined
  /** The daemon is that of the build's pod: its disk is kept from filling up. Default false. */
  readonly clean?: boolean | undefined
}

/** `reported`: the server has the outcome and all log bytes. `fenced`: another attempt took over. `stopped`: by `stop()`, nothing final reported. */
export type EngineEnd =
  | { readonly end: 'reported'; readonly outcome: AttemptOutcome }
  | { readonly end: 'fenced' }
  | { readonly end: 'stopped' }

export interface RunningEngine {
  /** Resolves when the engine is done and holds nothing any more. Rejects with a fault when it could not begin (`claim-used`), or with a bug. */
  readonly ended: Promise<EngineEnd>
  /** Stops the containers of the attempt and reports nothing final; the server judges the attempt. Resolves when done. */
  stop(): Promise<void>
}

const SPOOL_BYTES = 4 * 1024 ** 3
/** A daemon that does not answer for so long after the start is not coming. */
const DOCKER_START_MS = 600_000
/** What the spool still holds when the engine is told to stop gets so long to be sent. */
const LAST_SEND_MS = 5_000

/** Starts an engine in this process; returns at once. */
export function startEngine(options: EngineOptions): RunningEngine {
  const stopping = new AbortController()
  const ended = new Engine(options, stopping).run()
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      stopping.abort(new DOMException('the engine was told to stop', 'AbortError'))
      await ended.catch(() => undefined)
    },
  }
}

class Engine {
  readonly #options: EngineOptions
  /** Aborted to stop the attempt: by `stop()`, or because it is fenced. */
  readonly #stopping: AbortController
  /** Aborted when nothing is left to do. */
  readonly #end = new AbortController()
  #isFenced = false

  constructor(options: EngineOptions, stopping: AbortController) {
    this.#options = options
    this.#stopping = stopping
  }

  async run(): Promise<EngineEnd> {
    const { serverUrl, bootstrap, caFile, clock, spoolDir } = this.#options
    const signal = this.#stopping.signal
    const client = createClient({ url: serverUrl, token: bootstrap, transport: nodeTransport({ caFile }) })
    // The daemon may still be starting: it is waited for while the claim is on its way.
    const early = this.#options.dockerEnv['DOCKER_HOST'] !== undefined || this.#options.askDockerHost !== true
    const connecting = early ? this.#connect(this.#options.dockerEnv) : undefined
    connecting?.catch(() => undefined)
    try {
      if (this.#options.isWarm === true && !(await awaitBuild({ client, clock, signal }))) return { end: 'stopped' }
      const claimed = await claim({ client, spoolDir, clock, signal })
      return await this.#runClaimed(claimed, client.withToken(claimed.token), connecting)
    } catch (error) {
      if (signal.aborted) return { end: this.#isFenced ? 'fenced' : 'stopped' }
      throw error
    } finally {
      this.#stopping.abort()
      this.#end.abort()
      await connecting?.then((docker) => docker.close()).catch(() => undefined)
    }
  }

  async #runClaimed(claimed: EngineClaimed, client: Client, connecting: Promise<Docker> | undefined): Promise<EngineEnd> {
    const { clock, log, spoolDir, metrics } = this.#options
    metrics?.begin(claimed)
    const lease: LeaseOptions = { client, clock, log, signal: this.#end.signal }
    keepLease(lease, claimed.limits.heartbeatMs).catch((error: unknown) => this.#fence(error))
    const journal = await openAttemptJournal(join(spoolDir, 'journal'), this.#options)
    const drain = startDrain({ journal, sink: serverSink(client), clock, log, signal: this.#end.signal })
    drain.failed.catch((error: unknown) => this.#fence(error))
    const docker = await (connecting ?? this.#askAndConnect(client, claimed)).catch((error: unknown) => this.#noDocker(error))
    const outcome =
      docker === undefined ? await writeEnd(journal, DOCKER_MISSING) : await this.#attempt({ claimed, docker, journal, lease })
    if (connecting === undefined) docker?.close()
    return this.#close(journal, drain, outcome)
  }

  async #attempt(parts: {
    claimed: EngineClaimed
    docker: Docker
    journal: Journal<EngineEvent>
    lease: LeaseOptions
  }): Promise<AttemptOutcome | undefined> {
    const { claimed, docker, journal, lease } = parts
    const { clock, log, toolsImage, toolsWaitMs, debugTimeoutMs, clean } = this.#options
    if (journal.foundEvents > 0) {
      // This process took over the spool of one that died: its steps cannot be picked up, but all it wrote down is sent.
      await removeLeftovers(docker, claimed.buildId)
      return writeEnd(journal, {
        status: 'error',
        reason: 'engine-lost',
        message: 'The engine was restarted while the attempt ran.',
      })
    }
    const options: AttemptOptions = {
      input: withWebIdentity(withUserVariables(claimed, this.#options.dockerEnv), this.#options.dockerEnv),
      docker,
      journal,
      clock,
      log,
      signal: this.#stopping.signal,
      commands: listen(lease),
      debug: terminalLink(lease),
      debugTimeoutMs,
      toolsImage,
      toolsWaitMs,
      clean,
    }
    const ready = await resolveDocument(options, (text) => compileDocument(lease, text)).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) throw error
    })
    if (ready === undefined) return undefined
    if ('outcome' in ready) return writeEnd(journal, ready.outcome)
    const filled = await readStoreSecrets({ ...options, input: ready.input }).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) throw error
    })
    if (filled === undefined) return undefined
    return 'outcome' in filled ? writeEnd(journal, filled.outcome) : runAttempt({ ...options, input: filled.input })
  }

  async #close(journal: Journal<EngineEvent>, drain: Drain, outcome: AttemptOutcome | undefined): Promise<EngineEnd> {
    if (this.#isFenced) {
      this.#end.abort()
      await journal.remove()
      return { end: 'fenced' }
    }
    const finished = drain.finish()
    if (outcome === undefined) await Promise.race([finished.catch(() => undefined), this.#options.clock.sleep(LAST_SEND_MS)])
    else await this.#untilTaken(finished)
    this.#end.abort()
    await journal.remove()
    if (outcome !== undefined && !this.#isFenced) {
      await rm(this.#options.spoolDir, { recursive: true, force: true })
      return { end: 'reported', outcome }
    }
    return { end: this.#isFenced ? 'fenced' : 'stopped' }
  }

  /** With an outcome written, being told to stop does not cut its report short; being fenced does. */
  async #untilTaken(finished: Promise<void>): Promise<void> {
    try {
      await finished
    } catch (error) {
      if (!this.#isFenced) throw error
    }
  }

  /** The server does not want this attempt any more: what it still does must end without a word. */
  #fence(error: unknown): void {
    if (this.#end.signal.aborted) return
    this.#isFenced = isFault(error, 'attempt-stale', 'unauthenticated', 'forbidden')
    this.#options.log.warn({ err: error, fenced: this.#isFenced }, 'server refused the attempt')
    this.#stopping.abort(error)
  }

  #connect(env: EngineOptions['dockerEnv']): Promise<Docker> {
    const { clock } = this.#options
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(DOCKER_START_MS)])
    return awaitDocker({ env }, { clock, signal })
  }

  async #askAndConnect(client: Client, { docker }: Pick<EngineClaimed, 'docker'>): Promise<Docker> {
    const { clock, dockerEnv, dockerHost, spoolDir } = this.#options
    const host = dockerHost ?? (await askDockerHost(client, { clock, signal: this.#stopping.signal }))
    const certificates = docker === undefined ? {} : await writeCertificates(join(spoolDir, 'docker'), docker)
    return this.#connect({ ...dockerEnv, ...certificates, DOCKER_HOST: host })
  }

  #noDocker(error: unknown): undefined {
    if (this.#stopping.signal.aborted) throw error
    this.#options.log.error({ err: error }, 'docker daemon did not come up')
    return undefined
  }
}

/** Writes what the engine shows to its daemon where the docker client looks for it; answers the variables that say so. */
async function writeCertificates(
  folder: string,
  { ca, cert, key }: NonNullable<EngineClaimed['docker']>,
): Promise<Record<string, string>> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries({ ca, cert, key }))
    await writeFile(join(folder, `${name}.pem`), text, { mode: 0o600 })
  return { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: folder }
}

const DOCKER_MISSING: AttemptOutcome = {
  status: 'error',
  reason: 'dind-lost',
  message: `The Docker daemon of the build did not answer within ${DOCKER_START_MS / 60_000} minutes.`,
}

async function openAttemptJournal(
  dir: string,
  { clock, log, spoolBytes, metrics }: Pick<EngineOptions, 'clock' | 'log' | 'spoolBytes' | 'metrics'>,
): Promise<Journal<EngineEvent>> {
  return openJournal<EngineEvent>({
    dir,
    clock,
    limitBytes: spoolBytes ?? SPOOL_BYTES,
    decode: (value) => EngineEvent.parse(value),
    onAppend: metrics === undefined ? undefined : (event) => metrics.observe(event),
    onFull: (full) => log.warn({ full }, full ? 'spool is full: steps wait for the server' : 'spool has room again'),
  })
}

/** Writes an end for an attempt that no step decided. */
async function writeEnd(journal: Journal<EngineEvent>, outcome: AttemptOutcome): Promise<AttemptOutcome> {
  const totals = Object.entries(await journal.totals())
  const streams = Object.fromEntries(totals.map(([name, { bytes, sha256 }]) => [name, { bytes, sha256: sha256 ?? '' }]))
  journal.append({ type: 'attempt.finished', outcome, streams })
  return outcome
}

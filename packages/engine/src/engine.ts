/** Runs one engine against a server: claims the attempt, runs it, reports it and ends. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { endsWork, nodeTransport, type Clock, type Logger } from '@windlass/kit'
import { createClient, type AttemptOutcome, type Client, type EngineClaimed } from '@windlass/protocol'
import type { AttemptOptions } from './attempt/input.ts'
import { StepStop } from './attempt/step-outcome.ts'
import { unlessAborted } from './containers/run-container.ts'
import { readStoreSecrets } from './secrets/secret-stores.ts'
import { openCommands, stoppedOutcome } from './run/commands.ts'
import { resolveDocument } from './run/resolve-document.ts'
import { runAttempt } from './run/run.ts'
import { withUserVariables } from './secrets/user-variables.ts'
import { withWebIdentity } from './secrets/web-identity.ts'
import { awaitDocker, type Docker } from './docker/docker.ts'
import type { DockerRetry } from './docker/http.ts'
import { askDockerHost, awaitBuild, claim, compileDocument, openClaimKey } from './report/claim.ts'
import { gitAccessOf } from './report/git-access.ts'
import { idTokensOf } from './report/id-tokens.ts'
import { openFirstContact } from './report/first-contact.ts'
import { listen } from './report/lease.ts'
import type { Measurements } from './report/measurements.ts'
import { endLostAttempt, openReport, writeEnd, type Report } from './report/report.ts'
import { reportSilentDaemon } from './report/silent-daemon.ts'
import { terminalLink } from './report/terminal-link.ts'

export interface EngineOptions {
  readonly serverUrl: string
  /** One-time credential for `/v1/engine/claim`. */
  readonly bootstrap: string
  /** Wait until the server has a build before claiming. Default false. */
  readonly isWarm?: boolean | undefined
  /** Variables for the Docker client (see `DockerOptions`), and variables of the runtime for every step (see `withUserVariables`). */
  readonly dockerEnv: Readonly<Record<string, string | undefined>>
  /** Without DOCKER_HOST in `dockerEnv`, ask the server for the daemon's address instead of looking for a local daemon. */
  readonly askDockerHost?: boolean | undefined
  /** Address of the daemon if its certificate comes with the claim. The server is asked when absent. */
  readonly dockerHost?: string | undefined
  /** A folder for this engine only. Removed once everything is acknowledged. */
  readonly spoolDir: string
  /** PEM file with additional certificate authorities for the server. */
  readonly caFile?: string | undefined
  /** Maximum log bytes in the spool; steps are blocked above it. Default 4 GiB. */
  readonly spoolBytes?: number | undefined
  readonly clock: Clock
  readonly log: Logger
  /** Takes what the engine measures. */
  readonly metrics?: Measurements | undefined
  readonly toolsImage?: string | undefined
  /** Default hold time of a debug run. */
  readonly debugTimeoutMs?: number | undefined
  /** How long to wait for the daemon to have the tools image before pulling it. Default 0. */
  readonly toolsWaitMs?: number | undefined
  /** Keep the disk of the daemon from filling up; for the daemon of the build's pod only. Default false. */
  readonly clean?: boolean | undefined
}

/**
 * `reported`: the server has the outcome and all log bytes. `fenced`: another attempt took over. `stopped`: ended by `stop()` without a final report.
 */
export type EngineEnd =
  | { readonly end: 'reported'; readonly outcome: AttemptOutcome }
  | { readonly end: 'fenced' }
  | { readonly end: 'stopped' }

export interface RunningEngine {
  /** Resolves when the engine has ended and released everything. Rejects with a fault if it could not start (`claim-used`), or with a bug. */
  readonly ended: Promise<EngineEnd>
  /** Stops the containers of the attempt and reports nothing final; the server decides the state of the attempt. Resolves when done. */
  stop(): Promise<void>
}

/**
 * Timeout for opening a connection. Milliseconds. It includes the DNS lookup, which takes 5 s and more if the first name server is down: with a
 * shorter timeout such an engine could never reach its server. `FirstContact` logs a silent server much earlier. The timeout is below the 30 s of a
 * call because its message says more.
 */
const CONNECT_MS = 25_000
const SPOOL_BYTES = 4 * 1024 ** 3
/** How long to wait for the daemon to start. Milliseconds. */
const DOCKER_START_MS = 600_000
/** How long to keep sending the rest of the spool when the engine is asked to stop. Milliseconds. */
const LAST_SEND_MS = 5_000

/** Starts an engine in this process. Returns at once. */
export function startEngine(options: EngineOptions): RunningEngine {
  const stopping = new AbortController()
  const ended = new Engine(options, stopping).run()
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      stopping.abort(new DOMException('the engine was asked to stop', 'AbortError'))
      await ended.catch(() => undefined)
    },
  }
}

/** A claimed attempt before its first step. */
interface Begun {
  readonly claimed: EngineClaimed
  readonly report: Report
  readonly connected: Promise<Docker>
  readonly commands: AttemptOptions['commands']
  /** Aborted when the engine or the build is stopped. */
  readonly signal: AbortSignal
}

class Engine {
  readonly #options: EngineOptions
  /** Aborted to stop the attempt, by `stop()` or because the attempt is fenced. */
  readonly #stopping: AbortController
  /** Aborted when no work is left. */
  readonly #end = new AbortController()
  #isFenced = false

  constructor(options: EngineOptions, stopping: AbortController) {
    this.#options = options
    this.#stopping = stopping
  }

  async run(): Promise<EngineEnd> {
    const { serverUrl, bootstrap, isWarm, caFile, clock, log, spoolDir } = this.#options
    const signal = this.#stopping.signal
    const client = createClient({ url: serverUrl, token: bootstrap, transport: nodeTransport({ caFile, connectMs: CONNECT_MS }) })
    const call = { client, clock, signal, contact: openFirstContact({ url: client.url, clock, log }) }
    // The daemon may still be starting, so connect while the claim is in flight.
    const early = this.#options.dockerEnv['DOCKER_HOST'] !== undefined || this.#options.askDockerHost !== true
    const { key, isRestarted } = openClaimKey(spoolDir)
    const connecting = early && !isRestarted ? this.#connect(this.#options.dockerEnv, signal) : undefined
    connecting?.catch(() => undefined)
    try {
      // The engine of a warm pair that restarts before it has a build ends. The agent reports the pair, and another pair replaces it.
      if (isWarm === true && !(await awaitBuild(call, { asksOnce: isRestarted }))) return { end: 'stopped' }
      const claimed = await claim({ ...call, key })
      const report = await this.#openReport(claimed, client.withToken(claimed.token))
      const outcome = await (isRestarted ? endLostAttempt(report, signal) : this.#runClaimed(claimed, report, connecting))
      return await this.#close(report, outcome)
    } catch (error) {
      // The server no longer needs the contents of this spool.
      if (isRestarted && endsWork('claim', error)) return { end: 'fenced' }
      if (signal.aborted) return { end: this.#isFenced ? 'fenced' : 'stopped' }
      throw error
    } finally {
      this.#stopping.abort()
      this.#end.abort()
      await connecting?.then((docker) => docker.close()).catch(() => undefined)
    }
  }

  #openReport(claimed: EngineClaimed, client: Client): Promise<Report> {
    const { spoolBytes = SPOOL_BYTES, ...options } = this.#options
    options.metrics?.begin(claimed)
    const { heartbeatMs } = claimed.limits
    const onFailed = (error: unknown): void => this.#fence(error)
    return openReport({ ...options, spoolBytes, client, heartbeatMs, signal: this.#end.signal, onFailed })
  }

  /** Runs the attempt. Resolves with its outcome, or with undefined if the engine was stopped. */
  async #runClaimed(
    claimed: EngineClaimed,
    report: Report,
    connecting: Promise<Docker> | undefined,
  ): Promise<AttemptOutcome | undefined> {
    const { commands, stop } = openCommands(listen(report.lease))
    const signal = AbortSignal.any([this.#stopping.signal, stop])
    const connected = connecting ?? this.#askAndConnect(report.lease.client, claimed, signal)
    try {
      const begun = { claimed, report, connected, commands, signal }
      const ready = await this.#prepare(begun).catch((error: unknown) => this.#stopped(error, stop))
      if (ready === undefined) return undefined
      if ('outcome' in ready) return await writeEnd(report.journal, ready.outcome)
      this.#options.metrics?.setPlan(ready.input.plan)
      return await runAttempt(ready)
    } finally {
      if (connecting === undefined)
        void connected.then(
          (docker) => docker.close(),
          () => undefined,
        )
    }
  }

  /** Waits for the daemon, and completes what to run: the document, if it is in a repository, and the secrets of external stores. */
  async #prepare({ connected, signal, ...begun }: Begun): Promise<AttemptOptions | { readonly outcome: AttemptOutcome }> {
    const { lease, journal } = begun.report
    const { clock, log } = this.#options
    const docker = await reportSilentDaemon(unlessAborted(connected, signal), { journal, clock, log, signal }).catch(
      (error: unknown) => this.#noDocker(error, signal),
    )
    if (docker === undefined) return { outcome: DOCKER_MISSING }
    const options = this.#attemptOptions(begun, docker)
    const resolved = await resolveDocument({ ...options, signal }, (text) => compileDocument({ ...lease, signal }, text))
    if ('outcome' in resolved) return resolved
    const filled = await readStoreSecrets({ ...options, ...resolved, signal })
    return 'outcome' in filled ? filled : { ...options, ...filled }
  }

  /** Returns the outcome of a build that was stopped before its first step, or undefined if the engine was. Throws other errors. */
  #stopped(error: unknown, stop: AbortSignal): { readonly outcome: AttemptOutcome } | undefined {
    if (endsWork('attempt', error)) this.#fence(error)
    if (this.#stopping.signal.aborted) return undefined
    if (!(stop.reason instanceof StepStop)) throw error
    return { outcome: stoppedOutcome(stop.reason) }
  }

  #attemptOptions({ claimed, report, commands }: Pick<Begun, 'claimed' | 'report' | 'commands'>, docker: Docker): AttemptOptions {
    const { clock, log, dockerEnv, serverUrl, toolsImage, toolsWaitMs, debugTimeoutMs, clean, metrics } = this.#options
    return {
      input: withWebIdentity(withUserVariables(claimed, dockerEnv), dockerEnv),
      docker,
      journal: report.journal,
      clock,
      log,
      signal: this.#stopping.signal,
      commands,
      debug: terminalLink(report.lease),
      requestIdToken: idTokensOf(report.lease),
      requestGitAccess: gitAccessOf(report.lease),
      debugTimeoutMs,
      serverUrl,
      toolsImage,
      toolsWaitMs,
      clean,
      observer: metrics,
    }
  }

  async #close({ journal, drain }: Report, outcome: AttemptOutcome | undefined): Promise<EngineEnd> {
    if (this.#isFenced) {
      this.#end.abort()
      await journal.remove()
      return { end: 'fenced' }
    }
    const finished = drain.finish()
    if (outcome === undefined) await Promise.race([finished.catch(() => undefined), this.#options.clock.sleep(LAST_SEND_MS)])
    else await this.#untilAcknowledged(finished)
    this.#end.abort()
    await journal.remove()
    if (outcome !== undefined && !this.#isFenced) {
      await rm(this.#options.spoolDir, { recursive: true, force: true })
      return { end: 'reported', outcome }
    }
    return { end: this.#isFenced ? 'fenced' : 'stopped' }
  }

  /** Waits until the server has the outcome. A stop request does not interrupt this; a fence does. */
  async #untilAcknowledged(finished: Promise<void>): Promise<void> {
    try {
      await finished
    } catch (error) {
      if (!this.#isFenced) throw error
    }
  }

  /** Stops the attempt because the server has ended it or because it can no longer be reported. Nothing more is sent. */
  #fence(error: unknown): void {
    if (this.#end.signal.aborted) return
    this.#isFenced = endsWork('attempt', error)
    this.#options.log.warn({ err: error, fenced: this.#isFenced }, 'stopping the attempt')
    this.#stopping.abort(error)
  }

  #connect(env: EngineOptions['dockerEnv'], signal: AbortSignal): Promise<Docker> {
    const { clock, metrics } = this.#options
    const onRetry = metrics && ((retry: DockerRetry): void => metrics.retried(retry))
    return awaitDocker({ env, onRetry }, { clock, signal: AbortSignal.any([signal, AbortSignal.timeout(DOCKER_START_MS)]) })
  }

  async #askAndConnect(client: Client, { docker }: Pick<EngineClaimed, 'docker'>, signal: AbortSignal): Promise<Docker> {
    const { clock, dockerEnv, dockerHost, spoolDir } = this.#options
    const host = dockerHost ?? (await askDockerHost(client, { clock, signal }))
    const certificates = docker === undefined ? {} : await writeCertificates(join(spoolDir, 'docker'), docker)
    return this.#connect({ ...dockerEnv, ...certificates, DOCKER_HOST: host }, signal)
  }

  #noDocker(error: unknown, signal: AbortSignal): undefined {
    if (signal.aborted) throw error
    this.#options.log.error({ err: error }, 'docker daemon did not start')
    return undefined
  }
}

/** Writes the client certificate for the daemon and returns the variables that point the Docker client to it. */
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

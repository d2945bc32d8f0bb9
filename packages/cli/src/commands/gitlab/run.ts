/** Runs `gitlab run`: a manager that runs the jobs of GitLab until a signal stops it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  allowedVaults,
  defaultConfigFile,
  loadConfig,
  METRICS_PORT,
  openManager,
  readControlPlane,
  serveManager,
  startReporter,
  withOptions,
  withVaultUrls,
  type Manager,
  type Reporter,
} from '@windlass/gitlab'
import { nodeTransport, openLog, systemClock, type Logger } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { VERSION, windlassImage } from '@windlass/plan/version'
import { createClient } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { unregister } from './manage.ts'

interface RunOptions {
  readonly config: string | undefined
  readonly listenAddress: string | undefined
  readonly helperImage: string | undefined
  readonly serverUrl: string | undefined
  readonly serverTokenFile: string | undefined
  readonly serverCaFile: string | undefined
  readonly vaultUrl: readonly string[]
  readonly unregister: boolean
  readonly workingDirectory: string | undefined
}

/** Time for which interrupted jobs are waited for, unless the configuration sets another one. Seconds. */
const SHUTDOWN_S = 30

/** Runs the command. Resolves to its exit code when the manager has stopped. */
export async function run({ options, settings, ...rest }: Invocation<RunOptions>): Promise<number> {
  const { environment, debug } = settings
  const configFile = options.config ?? defaultConfigFile(environment)
  const { config } = loadConfig(configFile)
  const log = openLog({
    level: debug ? 'debug' : levelOf(config.log_level),
    name: 'gitlab-runner',
    format: config.log_format === undefined || config.log_format === 'json' ? 'json' : 'text',
  })
  const controlPlane = withOptions(environment, {
    url: options.serverUrl,
    tokenFile: options.serverTokenFile,
    caFile: options.serverCaFile,
  })
  const env = withVaultUrls(environment, options.vaultUrl)
  // Wrong settings end the command before it has jobs.
  allowedVaults(env)
  const isReporting = readControlPlane(controlPlane) !== undefined
  const { workingDirectory: spoolFolder = mkdtempSync(join(tmpdir(), 'windlass-gitlab-')) } = options
  const manager = await openManager({
    configFile,
    env,
    version: VERSION,
    revision: environment['WINDLASS_REVISION'] ?? 'release',
    helperImage: options.helperImage ?? environment['WINDLASS_GITLAB_HELPER_IMAGE'] ?? windlassImage('gitlab-helper'),
    spoolFolder,
    clock: systemClock,
    log,
  })
  const reporter = isReporting ? reporterOf(manager, controlPlane, log) : undefined
  const port = portOf(options.listenAddress ?? config.listen_address)
  const probes = port === undefined ? undefined : await serveManager(manager, { port, version: VERSION })
  let isKilled = false
  try {
    const { code, isIdle } = await untilStopped(manager, (config.shutdown_timeout || SHUTDOWN_S) * 1_000, log)
    isKilled = code !== EXIT.success
    // A running job needs its runner, so the runner is removed after the last job.
    if (options.unregister && isIdle)
      await unregister({
        ...rest,
        settings,
        options: { config: configFile, name: undefined, url: undefined, token: undefined, allRunners: true },
      })
    return code
  } finally {
    await reporter?.close({ atOnce: isKilled })
    await probes?.[Symbol.asyncDispose]()
    if (options.workingDirectory === undefined) rmSync(spoolFolder, { recursive: true, force: true })
  }
}

/** Reports the jobs of the manager to the Windlass server of the settings. */
function reporterOf(manager: Manager, env: Readonly<Record<string, string | undefined>>, log: Logger): Reporter {
  return startReporter({
    manager,
    connect() {
      const settings = readControlPlane(env)
      if (settings === undefined) throw new Error('the settings of the Windlass server have changed')
      const { url, token, caFile } = settings
      return createClient({ url, token, transport: nodeTransport({ caFile }) })
    },
    host: hostname(),
    version: VERSION,
    clock: systemClock,
    log: log.child({ part: 'reports' }),
  })
}

interface Stopped {
  /** Exit code. */
  readonly code: number
  /** True if no job of this manager runs any more. */
  readonly isIdle: boolean
}

/** Resolves when a signal has stopped the manager. */
function untilStopped(manager: Manager, shutdownMs: number, log: Logger): Promise<Stopped> {
  const { promise, resolve, reject } = Promise.withResolvers<Stopped>()
  let isStopping = false
  let isDraining = false
  const end = (work: () => Promise<boolean>): void =>
    void work().then((isIdle) => resolve({ code: EXIT.success, isIdle }), reject)
  const stop = (name: NodeJS.Signals): void => {
    if (isStopping) {
      log.warn({ signal: name }, 'the manager exits at once; a manager of the same runner continues its jobs')
      resolve({ code: EXIT.failed, isIdle: false })
      return
    }
    isStopping = true
    // The time for draining is over: another manager continues what still runs.
    if (isDraining) {
      log.info({ signal: name }, 'the manager stops; a manager of the same runner continues its jobs')
      end(() => manager.close().then(() => false))
      return
    }
    log.info({ signal: name, jobs: manager.state().jobs.length }, 'the manager ends its jobs and stops')
    end(() => Promise.race([manager.interrupt().then(() => true), systemClock.sleep(shutdownMs).then(() => false)]))
  }
  process.on('SIGTERM', stop).on('SIGINT', stop)
  process.on('SIGHUP', () => manager.reload())
  process.on('SIGUSR2', () => {
    log.info('the manager asks for no more jobs')
    manager.park().catch(reject)
  })
  process.once('SIGQUIT', () => {
    isDraining = true
    const jobs = manager.state().jobs.map(({ id }) => id)
    log.info({ jobs }, 'the manager asks for no more jobs, and stops when these have ended')
    end(() => manager.drain().then(() => true))
  })
  return promise
}

function levelOf(level: string | undefined): 'debug' | 'info' | 'warn' | 'error' {
  if (level === 'debug' || level === 'warn' || level === 'error') return level
  if (level === 'warning') return 'warn'
  return level === 'fatal' || level === 'panic' ? 'error' : 'info'
}

/** Returns the port of `host:port`, `:port` or `port`; 9252 without one. Undefined without an address. Throws `usage`. */
function portOf(address: string | undefined): number | undefined {
  if (address === undefined || address === '') return undefined
  const match = /^(?:.*?:)?(\d{1,5})$/.exec(address)
  const port = match === null && !address.includes(':') ? METRICS_PORT : Number(match?.[1])
  if (Number.isInteger(port) && port < 65_536) return port
  throw fault('usage', { message: `"${address}" is not an address to listen on.`, hint: 'Give HOST:PORT, such as :9252.' })
}

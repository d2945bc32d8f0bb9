import { openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { aborted, openLog, stopSignal, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { LOCAL_RUNTIME, startLocalServer, type LocalServer } from '@windlass/local'
import { formatDuration } from '@windlass/plan'
import type { Invocation, Values } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import type { Printer } from '../../printer.ts'
import { openRetryingClient } from '../../session/session.ts'
import { createSignInLink, offerLink } from '../../session/sign-in-link.ts'
import { describeReach, resolveAdvertised, resolveLogs, type RestartOptions } from './advertise.ts'
import { noteIfSlow } from './note-if-slow.ts'
import { saveLocalContext } from './context.ts'
import { removeProcess, writeProcess } from './process.ts'
import { DEFAULT_PORT, type upOptions } from './options.ts'

/** Default of `--host`. */
const LOCAL_HOST = '127.0.0.1'

type UpOptions = Values<typeof upOptions>

/** Runs the server in this process until a stop signal. */
export async function serve({ options, out, settings }: Invocation<UpOptions>, dataDir: string): Promise<number> {
  const signal = stopSignal()
  const began = systemClock.monotonic()
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const logFile = join(dataDir, 'server.log')
  const log = openLog({ level: settings.debug ? 'debug' : 'info', name: 'windlass', fd: openSync(logFile, 'a', 0o600) })
  const advertised = resolveAdvertised(dataDir, options.advertise)
  const host = options.host ?? LOCAL_HOST
  const starting = start({ options, settings }, { dataDir, host, advertised, log })
  const server = await noteIfSlow(systemClock, starting, () => out.note(`Waiting for the server. Its log is in ${logFile}.`))
  try {
    writeProcess(dataDir, { pid: process.pid, url: server.url, host, advertised, adminKey: server.adminKey })
    saveLocalContext(settings.configFile, server)
    printWelcome(out, {
      server,
      host,
      advertised,
      options,
      dataDir,
      logFile,
      tookMs: Math.round(systemClock.monotonic() - began),
    })
    // Elsewhere the output is a file, which is read later than the link is valid.
    if (out.stdout.isTTY) {
      const client = openRetryingClient({ url: server.url, token: server.adminKey })
      out.line(offerLink(await createSignInLink({ client, url: server.url })))
    }
    await untilStopped(server, signal)
    out.note('Stopping. Running builds continue after the next start.')
    return EXIT.success
  } finally {
    await server.close()
    removeProcess(dataDir)
  }
}

async function start(
  { options, settings }: Pick<Invocation<UpOptions>, 'options' | 'settings'>,
  { dataDir, host, advertised, log }: ServeConfig & { log: ReturnType<typeof openLog> },
): Promise<LocalServer> {
  const port = options.port ?? DEFAULT_PORT
  try {
    const { environment } = settings
    return await startLocalServer({
      dataDir,
      host,
      port,
      advertisedUrl: advertised,
      databaseUrl: options.postgres ?? settings.postgres,
      logsUrl: resolveLogs(options.logs),
      adminKey: settings.apiKey,
      environment,
      clock: systemClock,
      log,
    })
  } catch (error) {
    if (isFault(error) || !(error instanceof Error) || !('code' in error)) throw error
    if (error.code === 'EADDRINUSE')
      throw fault(
        'usage',
        { message: `Port ${port} is in use.`, hint: 'Choose another port with --port; 0 selects a free one.' },
        error,
      )
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES')
      throw fault('usage', { message: `Cannot listen on ${host}:${port}.`, hint: 'Choose another --host or --port.' }, error)
    throw error
  }
}

async function untilStopped({ failed }: LocalServer, signal: AbortSignal): Promise<void> {
  await Promise.race([aborted(signal), failed])
}

interface ServeConfig {
  readonly dataDir: string
  readonly host: string
  readonly advertised: string | undefined
}

interface Welcome extends ServeConfig {
  readonly options: RestartOptions
  readonly server: LocalServer
  readonly logFile: string
  readonly tookMs: number
}

function printWelcome(out: Printer, { server, host, advertised, options, dataDir, logFile, tookMs }: Welcome): void {
  const { style } = out.stdout
  out.line(style.green(`✔ Windlass started in ${formatDuration(tookMs)}`))
  out.line(`  API      ${server.url}/v1`)
  out.line(`  Docker   ${server.dockerVersion}, runtime environment "${LOCAL_RUNTIME}"`)
  out.line(`  Data     ${dataDir}`)
  out.line(`  Log      ${logFile}`)
  out.line()
  for (const line of describeReach({ url: server.url, host, advertised, options })) out.line(line)
  out.line(`Run a pipeline: ${style.bold('windlass run -f pipeline.yml')}   (Ctrl-C stops the server)`)
}

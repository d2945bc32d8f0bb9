import { openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openLog, stopSignal, systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { LOCAL_RUNTIME, startLocalServer, type LocalServer } from '@windlass/local'
import { formatDuration } from '@windlass/plan'
import type { Invocation, Values } from '../command.ts'
import { DEFAULT_PORT, type upOptions } from '../commands/up.ts'
import { saveContext } from '../config-file.ts'
import { EXIT } from '../exit-codes.ts'
import type { Printer } from '../printer.ts'
import { LOCAL_CONTEXT, removeProcess, writeProcess } from './up-process.ts'

type UpOptions = Values<typeof upOptions>

/** Runs the server in this process until it is told to stop. */
export async function serve({ options, out, settings }: Invocation<UpOptions>, dataDir: string): Promise<number> {
  const signal = stopSignal()
  const began = systemClock.monotonic()
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const logFile = join(dataDir, 'server.log')
  const log = openLog({ level: settings.debug ? 'debug' : 'info', name: 'windlass', fd: openSync(logFile, 'a', 0o600) })
  const server = await start({ options, settings }, { dataDir, log })
  try {
    writeProcess(dataDir, { pid: process.pid, url: server.url, adminKey: server.adminKey })
    saveContext(settings.configFile, { name: LOCAL_CONTEXT, url: server.url, apiKey: server.adminKey }, { use: true })
    welcome(out, { server, dataDir, logFile, tookMs: Math.round(systemClock.monotonic() - began) })
    await untilStopped(server, signal)
    out.note('Stopping; builds that run go on after the next start.')
    return EXIT.success
  } finally {
    await server.close()
    removeProcess(dataDir)
  }
}

async function start(
  { options, settings }: Pick<Invocation<UpOptions>, 'options' | 'settings'>,
  { dataDir, log }: { dataDir: string; log: ReturnType<typeof openLog> },
): Promise<LocalServer> {
  const port = options.port ?? DEFAULT_PORT
  const host = options.host ?? '127.0.0.1'
  try {
    const { environment } = settings
    return await startLocalServer({
      dataDir,
      host,
      port,
      databaseUrl: options.postgres ?? settings.postgres,
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
        { message: `Port ${port} is taken.`, hint: 'Choose another one with --port; 0 takes any free one.' },
        error,
      )
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'EACCES')
      throw fault('usage', { message: `${host}:${port} cannot be listened on.`, hint: 'Choose another --host or --port.' }, error)
    throw error
  }
}

async function untilStopped({ failed }: LocalServer, signal: AbortSignal): Promise<void> {
  const { promise, resolve: stopped } = Promise.withResolvers<void>()
  signal.addEventListener('abort', () => stopped(), { once: true })
  if (signal.aborted) stopped()
  await Promise.race([promise, failed])
}

interface Welcome {
  readonly server: LocalServer
  readonly dataDir: string
  readonly logFile: string
  readonly tookMs: number
}

function welcome(out: Printer, { server, dataDir, logFile, tookMs }: Welcome): void {
  const { style } = out.stdout
  out.line(style.green(`✔ Windlass is up after ${formatDuration(tookMs)}`))
  out.line(`  API      ${server.url}/v1`)
  out.line(`  Docker   ${server.dockerVersion}, runtime environment '${LOCAL_RUNTIME}'`)
  out.line(`  Data     ${dataDir}`)
  out.line(`  Log      ${logFile}`)
  out.line()
  out.line(`Run something: ${style.bold('windlass run -f pipeline.yml')}   (Ctrl-C stops the server)`)
}

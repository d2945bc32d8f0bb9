import { join, resolve } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Invocation, Values } from '../command.ts'
import type { upOptions } from '../commands/up.ts'
import { saveContext } from '../config-file.ts'
import { EXIT } from '../exit-codes.ts'
import type { Printer } from '../printer.ts'
import { LOCAL_CONTEXT, readProcess, startDetached, stopProcess } from './up-process.ts'

type UpOptions = Values<typeof upOptions>

/** `up`. */
export async function up(invocation: Invocation<UpOptions>): Promise<number> {
  const { options, out, settings } = invocation
  const dataDir = resolve(options.data ?? settings.dataFolder)
  if (options.stop) return stop(out, dataDir)
  const running = readProcess(dataDir)
  if (running !== undefined) {
    if (!options.detach)
      throw fault('store-locked', {
        message: `A server runs with this data folder already: ${running.url} (process ${running.pid}).`,
        hint: 'Use it, or stop it with `windlass up --stop`.',
      })
    saveContext(settings.configFile, { name: LOCAL_CONTEXT, url: running.url, apiKey: running.adminKey }, { use: true })
    out.line(`The server runs already: ${running.url}`)
    return EXIT.success
  }
  if (options.detach) {
    const started = await startDetached(invocation, dataDir)
    out.line(`The server runs: ${started.url}  (process ${started.pid}, log ${join(dataDir, 'up.log')})`)
    return EXIT.success
  }
  return (await import('./serve.ts')).serve(invocation, dataDir)
}

async function stop(out: Printer, dataDir: string): Promise<number> {
  const stopped = await stopProcess(dataDir)
  out.line(stopped === undefined ? `No server runs with ${dataDir}.` : `The server at ${stopped.url} is stopped.`)
  return EXIT.success
}

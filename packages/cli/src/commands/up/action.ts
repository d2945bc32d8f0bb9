import { join, resolve } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Invocation, Values } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import type { Printer } from '../../printer.ts'
import { openRetryingClient } from '../../session/session.ts'
import { createSignInLink, offerLink } from '../../session/sign-in-link.ts'
import { describeReach, readAdvertised } from './advertise.ts'
import { requireOwnFolder, saveLocalContext } from './context.ts'
import { readProcess, startDetached, stopProcess, type UpProcess } from './process.ts'
import type { upOptions } from './options.ts'

type UpOptions = Values<typeof upOptions>

/** Runs `up`. */
export async function up(invocation: Invocation<UpOptions>): Promise<number> {
  const { options, out, settings } = invocation
  const dataDir = resolve(options.data ?? settings.dataFolder)
  if (options.stop) return stop(out, dataDir)
  requireOwnFolder(dataDir)
  const given = options.advertise === undefined ? undefined : readAdvertised(options.advertise)
  const running = readProcess(dataDir)
  if (running !== undefined) {
    const wanted = options.advertise === undefined ? running.advertised : given
    if (!options.detach || wanted !== running.advertised)
      throw fault('store-locked', {
        message: `A server already uses this data folder: ${running.url} (process ${running.pid}).`,
        hint: `Use it, or stop it with \`windlass up --stop${options.data === undefined ? '' : ` --data ${options.data}`}\` and start it again.`,
      })
    saveLocalContext(settings.configFile, running)
    out.line(`The server is already running: ${running.url}`)
    for (const line of describeReach({ ...running, options })) out.note(line)
    out.line(await offerPage(running))
    return EXIT.success
  }
  if (options.detach) {
    const started = await startDetached(invocation, dataDir)
    out.line(`The server is running: ${started.url}  (process ${started.pid}, log ${join(dataDir, 'server.log')})`)
    for (const line of describeReach({ ...started, options })) out.note(line)
    out.note('Run a pipeline with `windlass run -f FILE`.')
    out.line(await offerPage(started))
    return EXIT.success
  }
  return (await import('./serve.ts')).serve(invocation, dataDir)
}

/** Returns a line with a link that signs a browser in. */
async function offerPage({ url, adminKey }: Pick<UpProcess, 'url' | 'adminKey'>): Promise<string> {
  return offerLink(await createSignInLink({ client: openRetryingClient({ url, token: adminKey }), url }))
}

async function stop(out: Printer, dataDir: string): Promise<number> {
  const stopped = await stopProcess(dataDir)
  out.line(stopped === undefined ? `No server uses ${dataDir}.` : `The server at ${stopped.url} was stopped.`)
  return EXIT.success
}

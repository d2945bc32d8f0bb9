/** Which server a command of the Runner talks to: `--token` and `--url` make a context of their own, as the vendor's command does. */
import { text as readAll } from 'node:stream/consumers'
import { nodeTransport } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { createClient, missingScopes, type Scope } from '@windlass/protocol'
import { z } from 'zod'
import { currentContext, readConfigFile, saveContext } from '../config-file.ts'
import type { Settings } from '../config.ts'
import { readInput } from '../input-files.ts'
import type { Printer } from '../printer.ts'
import { openSession, type Session } from '../session.ts'

/** Name of the context that `--token` makes. */
export const RUNNER_CONTEXT = 'cf-runner'

export interface LoginFlags {
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly url?: string | undefined
}

/** Opens the server. A token that is given is kept as context `cf-runner`, which becomes the current one. Throws `usage`, `server-unreachable`. */
export async function logIn(flags: LoginFlags, { settings, out }: { settings: Settings; out: Printer }): Promise<Session> {
  const token = await readToken(flags, out)
  if (token === undefined)
    return openSession(flags.url === undefined ? settings : { ...settings, ...known(settings), url: flags.url })
  const url = flags.url ?? settings.url ?? currentContext(readConfigFile(settings.configFile))?.url
  if (url === undefined)
    throw fault('usage', { message: 'Which server does the key belong to?', hint: 'Add --url https://windlass.example.com.' })
  const caFile = settings.caFile
  const context = { name: RUNNER_CONTEXT, url: url.replace(/\/+$/, ''), apiKey: token, ...(caFile !== undefined && { caFile }) }
  saveContext(settings.configFile, context, { use: true })
  return openSession({ ...settings, url: context.url, apiKey: token })
}

/** The key of the current context, for a call of the same server by another address. */
function known(settings: Settings): Pick<Settings, 'apiKey' | 'caFile'> {
  const context = currentContext(readConfigFile(settings.configFile))
  return { apiKey: settings.apiKey ?? context?.apiKey, caFile: settings.caFile ?? context?.caFile }
}

async function readToken({ token, tokenFile }: LoginFlags, out: Printer): Promise<string | undefined> {
  if (tokenFile !== undefined) return readInput(tokenFile).text.trim()
  if (token === '-') return (await readAll(process.stdin)).trim()
  if (token !== undefined)
    out.note(
      'A key on the command line can be read by other users of this machine; --token-file and WINDLASS_API_KEY keep it to you.',
    )
  return token
}

const Self = z.object({ name: z.string(), role: z.string().optional(), scopes: z.array(z.string()).optional() })

/** Throws `forbidden` with the names of the scopes that this key lacks, before anything is done with it. */
export async function requireScopes({ client }: Session, wanted: readonly Scope[]): Promise<void> {
  const me = await client.call('GET', '/v1/whoami', Self, { timeoutMs: 15_000 })
  const missing = missingScopes(me.scopes, wanted)
  if (missing.length === 0 && me.role !== 'viewer' && me.role !== 'user') return
  const lacks = missing.length > 0 ? `the scopes ${missing.join(', ')}` : 'the role admin'
  throw fault('forbidden', {
    message: `The key '${me.name}' lacks ${lacks}.`,
    hint: 'Make one with `windlass create key NAME --role admin`.',
  })
}

/** The client of an agent's token, at the same server. */
export function clientOf(session: Session, token: string, settings: Settings): Session['client'] {
  return createClient({ url: session.url, token, transport: nodeTransport({ caFile: settings.caFile }) })
}

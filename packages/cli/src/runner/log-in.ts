/** The server of a Runner command. `--token` and `--url` create a separate context, as in the Codefresh CLI. */
import { defined } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { missingScopes, type Scope } from '@windlass/protocol'
import { currentContext, readConfigFile, saveContext } from '../session/config-file.ts'
import type { Settings } from '../config.ts'
import { readTokenFile } from '../input/token-file.ts'
import type { Printer } from '../printer.ts'
import { openRetryingClient, openSession, type Session } from '../session/session.ts'

/** Name of the context that `--token` creates. */
export const RUNNER_CONTEXT = 'cf-runner'

export interface LoginFlags {
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly url?: string | undefined
}

/** Opens the server. A given token is saved as the current context `cf-runner`. Throws `usage`, `server-unreachable`. */
export async function logIn(flags: LoginFlags, { settings, out }: { settings: Settings; out: Printer }): Promise<Session> {
  const token = await readToken(flags, out)
  if (token === undefined)
    return openSession(flags.url === undefined ? settings : { ...settings, ...currentKey(settings), url: flags.url })
  const url = flags.url ?? settings.url ?? currentContext(readConfigFile(settings.configFile))?.url
  if (url === undefined)
    throw fault('usage', { message: 'The server of the key was not given.', hint: 'Add --url https://windlass.example.com.' })
  const caFile = settings.caFile
  const context = { name: RUNNER_CONTEXT, url: url.replace(/\/+$/, ''), apiKey: token, ...defined({ caFile }) }
  saveContext(settings.configFile, context, { use: true })
  return openSession({ ...settings, url: context.url, apiKey: token })
}

/** Returns the key of the current context, for the same server at another URL. */
function currentKey(settings: Settings): Pick<Settings, 'apiKey' | 'caFile'> {
  const context = currentContext(readConfigFile(settings.configFile))
  return { apiKey: settings.apiKey ?? context?.apiKey, caFile: settings.caFile ?? context?.caFile }
}

async function readToken({ token, tokenFile }: LoginFlags, out: Printer): Promise<string | undefined> {
  if (tokenFile !== undefined) return readTokenFile(tokenFile)
  if (token === '-') return readTokenFile('-')
  if (token !== undefined)
    out.note('Other users of this machine can read a key on the command line; use --token-file or WINDLASS_API_KEY instead.')
  return token
}

/** Throws `forbidden` with the scopes that the key lacks. */
export async function requireScopes({ client }: Session, wanted: readonly Scope[]): Promise<void> {
  const me = await client.server.whoami({ timeoutMs: 15_000 })
  const missing = missingScopes(me.scopes, wanted)
  if (missing.length === 0 && me.role === 'admin') return
  const lacks = missing.length > 0 ? `the scopes ${missing.join(', ')}` : 'the role admin'
  throw fault('forbidden', {
    message: `The key "${me.name}" lacks ${lacks}.`,
    hint: 'Create one with `windlass create key NAME --role admin`.',
  })
}

/** Returns a client of the same server with an agent's token. */
export function clientOf(session: Session, token: string, settings: Settings): Session['client'] {
  return openRetryingClient({ url: session.url, token, caFile: settings.caFile })
}

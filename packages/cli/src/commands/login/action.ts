import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { systemClock } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import type { DeviceCode } from '@windlass/protocol'
import type { ApiClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import { currentContext, readConfigFile, saveContext, writeConfigFile, type ServerContext } from '../../session/config-file.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatTime } from '../../format/time.ts'
import { readTokenFile } from '../../input/token-file.ts'
import type { Printer } from '../../printer.ts'
import { isOutage, openRetryingClient, openSession } from '../../session/session.ts'
import { verify } from '../auth/action.ts'
import { ask, parseUrl } from '../auth/credentials.ts'

interface LoginOptions {
  readonly url: string | undefined
  readonly name: string | undefined
  readonly keyFile: string | undefined
  readonly caFile: string | undefined
}

/** Runs `login`. Saves the key as a context, and makes it the current one. */
export async function logIn({ options, out, settings }: Invocation<LoginOptions>): Promise<void> {
  const current = currentContext(readConfigFile(settings.configFile))
  const url = parseUrl(options.url ?? settings.url ?? current?.url ?? (await ask('URL of the server', '--url')))
  const isCurrent = current !== undefined && current.url === url
  const caFile = options.caFile ?? settings.caFile ?? (isCurrent ? current.caFile : undefined)
  const access = { url, ...(caFile !== undefined && { caFile: resolve(caFile) }) }
  const apiKey =
    options.keyFile === undefined ? await keyFromBrowser(openRetryingClient(access), out) : readTokenFile(options.keyFile)
  const context: ServerContext = { name: options.name ?? (isCurrent ? current.name : new URL(url).host), ...access, apiKey }
  if (options.keyFile !== undefined) await verify(context)
  saveContext(settings.configFile, context, { use: true })
  out.line(`Logged in to ${url} as context "${context.name}".`)
}

/** Starts a login, and waits until a user has confirmed it in a browser. Throws `unauthenticated` if it expires, `forbidden` if it is denied. */
async function keyFromBrowser(client: ApiClient, out: Printer): Promise<string> {
  const login = await client.deviceLogins.start({ client: `windlass on ${hostname()}`.slice(0, 100) })
  out.note(`Open this address in a browser: ${login.url}#code=${login.userCode}`)
  out.note(`Confirm the code ${login.userCode} there. Waiting until ${formatTime(login.expiresAt)}.`)
  return waitForKey(client, login)
}

async function waitForKey(client: ApiClient, { deviceCode, expiresAt, intervalMs }: DeviceCode): Promise<string> {
  const until = systemClock.monotonic() + Math.max(0, expiresAt - systemClock.now())
  while (systemClock.monotonic() < until) {
    await systemClock.sleep(intervalMs)
    const answer = await poll(client, deviceCode)
    if (answer?.key !== undefined) return answer.key.token
    if (answer?.state === 'denied')
      throw fault('forbidden', { message: 'The login was denied.', hint: 'Start another one with `windlass login`.' })
  }
  throw fault('unauthenticated', { message: 'The login has expired.', hint: 'Start another one with `windlass login`.' })
}

/** Returns undefined if the server does not answer, because the next poll gets the same answer. */
async function poll(
  client: ApiClient,
  deviceCode: string,
): Promise<Awaited<ReturnType<ApiClient['deviceLogins']['poll']>> | undefined> {
  try {
    return await client.deviceLogins.poll({ deviceCode })
  } catch (error) {
    if (isOutage(error) || isFault(error, 'unavailable', 'rate-limited')) return undefined
    throw error
  }
}

/** Prefix of the names of keys that a login has created. */
const LOGIN_KEY = 'login/'

/** Runs `logout [CONTEXT]`. The context is deleted even if the server does not answer. */
export async function logOut({ args, options, out, settings }: Invocation<{ everywhere: boolean }>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  const name = args[0] ?? currentContext(config)?.name ?? ''
  const context = config.contexts.find((one) => one.name === name)
  if (context === undefined)
    throw fault('not-found', {
      message: `The context "${name}" does not exist.`,
      hint: 'List them with `windlass auth contexts`.',
    })
  if (context.apiKey !== undefined) await revoke({ ...context, token: context.apiKey }, { out, everywhere: options.everywhere })
  const contexts = config.contexts.filter((one) => one !== context)
  const current = config.current === name ? contexts[0]?.name : config.current
  writeConfigFile(settings.configFile, { contexts, ...(current !== undefined && { current }) })
  out.line(`Context "${name}" was deleted.`)
}

interface Access {
  readonly url: string
  readonly token: string
  readonly caFile?: string | undefined
}

/** Ends the sessions if asked to, and revokes the key of a login. Prints a note if that fails. */
async function revoke(access: Access, { out, everywhere }: { out: Printer; everywhere: boolean }): Promise<void> {
  try {
    const client = openRetryingClient(access)
    const me = await client.server.whoami({ timeoutMs: 15_000 })
    if (everywhere) out.note(`Ended ${(await client.sessions.signOutEverywhere()).ended} sessions.`)
    if (me.kind === 'key' && me.name.startsWith(LOGIN_KEY)) await client.keys.delete(me.id)
  } catch (error) {
    if (isFault(error, 'unauthenticated')) return
    out.note(`The server has not revoked the key: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Runs `whoami`. */
export async function showMe({ options, out, settings }: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const session = openSession(settings)
  const me = await session.client.server.whoami({ timeoutMs: 15_000 })
  if (options.output !== undefined) return printValue(out, me, options.output)
  const places = (roles: Readonly<Record<string, string>> = {}): string =>
    Object.entries(roles)
      .map(([name, role]) => `${name}=${role}`)
      .join(', ')
  const [projects, pipelines] = [places(me.projects), places(me.pipelines)]
  const rows: string[][] = [
    ['Name:', me.owner?.name ?? me.name],
    ['Role:', me.role ?? ''],
    ...(projects === '' ? [] : [['Projects:', projects]]),
    ...(pipelines === '' ? [] : [['Pipelines:', pipelines]]),
    ['Key:', me.kind === 'key' ? me.name : ''],
    ['Scopes:', me.scopes === undefined ? 'all' : me.scopes.join(', ')],
    ['Expires:', me.expiresAt === undefined ? 'never' : formatTime(me.expiresAt)],
    ['Server:', session.url],
  ]
  for (const line of alignColumns(rows)) out.line(line)
}

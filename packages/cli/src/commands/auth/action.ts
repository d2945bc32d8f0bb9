import { resolve } from 'node:path'
import { defined, nodeTransport } from '@windlass/kit'
import { fault, isFault } from '@windlass/kit/faults'
import { openClient } from '@windlass/client'
import type { Invocation } from '../../command.ts'
import { currentContext, readConfigFile, saveContext, writeConfigFile, type ServerContext } from '../../session/config-file.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'
import { createSignInLink } from '../../session/sign-in-link.ts'
import type { Settings } from '../../config.ts'
import { ask, findKey, findSecret, parseUrl } from './credentials.ts'

interface LoginOptions {
  readonly url: string | undefined
  readonly name: string | undefined
  readonly keyFile: string | undefined
  readonly caFile: string | undefined
  readonly firstAdmin: boolean
  readonly codeFile: string | undefined
  readonly noVerify: boolean
}

/** Runs `auth login`. Prompts for missing values on a terminal. A given key is verified before it is saved, a first admin key afterwards. */
export async function login({ options, out, settings }: Invocation<LoginOptions>): Promise<number> {
  const url = parseUrl(options.url ?? settings.url ?? (await ask('URL of the server', '--url')))
  const caFile = options.caFile ?? settings.caFile
  const apiKey = options.firstAdmin
    ? await firstKey({ url, caFile, code: await findCode(options.codeFile, settings) })
    : (await findKey(options.keyFile, settings)).trim()
  if (apiKey === '') throw fault('usage', { message: 'The key is empty.', hint: 'Pass it with --key-file or on standard input.' })
  const context: ServerContext = {
    name: options.name ?? new URL(url).host,
    url,
    apiKey,
    ...(caFile !== undefined && { caFile: resolve(caFile) }),
  }
  if (!options.noVerify && !options.firstAdmin) await verify(context)
  saveContext(settings.configFile, context, { use: true })
  // The first call with the key ends the validity of the code, so from here on this file has the only copy.
  if (!options.noVerify && options.firstAdmin && !(await isVerified(context, out))) return EXIT.failed
  out.line(`Logged in to ${url} as context "${context.name}".`)
  return EXIT.success
}

/** Returns false and prints a warning if the server does not confirm the saved key. */
async function isVerified(context: ServerContext, out: Printer): Promise<boolean> {
  try {
    await verify(context)
    return true
  } catch (error) {
    out.note(
      `The key was saved as context "${context.name}", but it could not be verified: ${error instanceof Error ? error.message : String(error)}`,
    )
    out.note('Check it with `windlass auth current`.')
    return false
  }
}

interface ContextOptions {
  readonly apiKey: string | undefined
  readonly url: string | undefined
  readonly caFile: string | undefined
  readonly noVerify: boolean
}

/** Runs `auth create-context [NAME]`. */
export async function createContext({ args, options, out, settings }: Invocation<ContextOptions>): Promise<void> {
  const url = parseUrl(
    options.url ??
      settings.url ??
      currentContext(readConfigFile(settings.configFile))?.url ??
      (await ask('URL of the server', '--url')),
  )
  const isGiven = options.apiKey !== undefined && options.apiKey !== '-'
  const apiKey = isGiven ? (options.apiKey ?? '') : (await findKey(options.apiKey, settings)).trim()
  const caFile = options.caFile ?? settings.caFile
  const context = { name: args[0] ?? 'default', url, apiKey, ...(caFile !== undefined && { caFile: resolve(caFile) }) }
  if (!options.noVerify) await verify(context)
  saveContext(settings.configFile, context, { use: true })
  out.line(`Context "${context.name}" was created and is the current one.`)
}

/** Checks the key with the server. Throws `unauthenticated`, `server-unreachable`. */
export async function verify({ url, apiKey, caFile }: ServerContext): Promise<void> {
  try {
    await openClient({ url, token: apiKey, transport: nodeTransport({ caFile }) }).server.whoami({ timeoutMs: 15_000 })
  } catch (error) {
    if (!isFault(error, 'unauthenticated')) throw error
    const message = `The server at ${url} refused this key.`
    throw fault('unauthenticated', { message, hint: 'Ask an admin for a key: `windlass create key NAME`.' }, error)
  }
}

interface FirstAdmin {
  readonly url: string
  readonly caFile: string | undefined
  readonly code: string
}

async function firstKey({ url, caFile, code }: FirstAdmin): Promise<string> {
  const key = await openClient({ url, transport: nodeTransport({ caFile }) }).server.bootstrap({ code: code.trim() })
  return key.token
}

/** Reads the bootstrap code of a new server from a file, WINDLASS_BOOTSTRAP_CODE, standard input, or a prompt. */
async function findCode(codeFile: string | undefined, settings: Settings): Promise<string> {
  return findSecret({
    file: codeFile,
    given: settings.bootstrapCode,
    question: 'Bootstrap code (in the log of the server)',
    hint: 'Pass it with --code-file or WINDLASS_BOOTSTRAP_CODE. Find it in bootstrap.code in the data folder or in the log of the server.',
  })
}

/** Runs `auth current`: prints context, server, version and key. */
export async function showCurrent({ out, settings }: Invocation<object>): Promise<void> {
  const session = openSession(settings)
  // Printed before the calls, because they show why a server cannot be reached.
  out.line(`Context:  ${session.context ?? '(from WINDLASS_URL)'}`)
  out.line(`Server:   ${session.url}`)
  const status = await session.client.server.status({ timeoutMs: 10_000 })
  out.line(`Version:  ${status.version}`)
  const me = await session.client.server.whoami({ timeoutMs: 15_000 })
  out.line(`Key:      ${me.role === undefined ? me.name : `${me.name} (role ${me.role})`}`)
  if (me.owner !== undefined) out.line(`User:     ${me.owner.name}`)
}

/** Runs `auth link`: prints a one-time sign-in link. */
export async function printLink({ out, settings }: Invocation<object>): Promise<void> {
  const session = openSession(settings)
  out.line(await createSignInLink(session))
}

/** Runs `auth contexts`. */
export async function listContexts({ out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  if (config.contexts.length === 0)
    return out.note('No server is configured. Log in with `windlass auth login`, or start one with `windlass up`.')
  const head = ['CURRENT', 'NAME', 'URL'].map((cell) => out.stdout.style.dim(cell))
  const rows = config.contexts.map(({ name, url }) => [name === config.current ? '*' : '', name, url])
  for (const line of alignColumns([head, ...rows])) out.line(line)
}

/** Runs `auth use NAME`. */
export async function chooseContext({ args, out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  const context = config.contexts.find(({ name }) => name === args[0])
  if (context === undefined) throw missing(args[0] ?? '')
  writeConfigFile(settings.configFile, { ...config, current: context.name })
  out.line(`Switched to context "${context.name}" (${context.url}).`)
}

/** Runs `auth logout [NAME]`. */
export async function logout({ args, out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  const name = args[0] ?? currentContext(config)?.name ?? ''
  if (!config.contexts.some((context) => context.name === name)) throw missing(name)
  const contexts = config.contexts.filter((context) => context.name !== name)
  const current = config.current === name ? contexts[0]?.name : config.current
  writeConfigFile(settings.configFile, { contexts, ...defined({ current }) })
  out.line(`Context "${name}" was deleted.`)
}

function missing(name: string): Error {
  return fault('not-found', {
    message: `The context "${name}" does not exist.`,
    hint: 'List them with `windlass auth contexts`.',
  })
}

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { nodeTransport } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { createClient } from '@windlass/protocol'
import { createFirstKey, serverStatus, whoAmI } from '../api.ts'
import type { Invocation } from '../command.ts'
import { currentContext, readConfigFile, saveContext, writeConfigFile, type ServerContext } from '../config-file.ts'
import { alignColumns } from '../format/columns.ts'
import { readInput } from '../input-files.ts'
import { openSession } from '../session.ts'
import type { Settings } from '../config.ts'

interface LoginOptions {
  readonly url: string | undefined
  readonly name: string | undefined
  readonly keyFile: string | undefined
  readonly caFile: string | undefined
  readonly firstAdmin: boolean
  readonly noVerify: boolean
}

/** `auth login`: asks for what was not given when there is a terminal to ask on. */
export async function login({ options, out, settings }: Invocation<LoginOptions>): Promise<void> {
  const url = parseUrl(options.url ?? settings.url ?? (await ask('URL of the server', '--url')))
  const caFile = options.caFile ?? settings.caFile
  const apiKey = options.firstAdmin ? await firstKey(url, caFile) : (await findKey(options.keyFile, settings)).trim()
  if (apiKey === '') throw fault('usage', { message: 'The key is empty.', hint: 'Give it by --key-file or on standard input.' })
  const context: ServerContext = {
    name: options.name ?? new URL(url).host,
    url,
    apiKey,
    ...(caFile !== undefined && { caFile: resolve(caFile) }),
  }
  if (!options.noVerify) await verify(context)
  saveContext(settings.configFile, context, { use: true })
  out.line(`Logged in to ${url} as context '${context.name}'.`)
}

interface ContextOptions {
  readonly apiKey: string | undefined
  readonly url: string | undefined
  readonly caFile: string | undefined
  readonly noVerify: boolean
}

/** `auth create-context [NAME]`. */
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
  out.line(`Context '${context.name}' was created and is in use.`)
}

/** Throws what the server answers to this key: `unauthenticated`, `server-unreachable`. */
async function verify({ url, apiKey, caFile }: ServerContext): Promise<void> {
  await whoAmI(createClient({ url, token: apiKey, transport: nodeTransport({ caFile }) }))
}

async function firstKey(url: string, caFile: string | undefined): Promise<string> {
  const key = await createFirstKey(createClient({ url, transport: nodeTransport({ caFile }) }))
  return key.token
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw fault('usage', {
      message: `'${text}' is not the URL of a server.`,
      hint: 'Write it like https://windlass.example.com.',
    })
  if (url.username !== '' || url.password !== '')
    throw fault('usage', {
      message: 'The URL must not hold a password.',
      hint: 'Give the key by --key-file or on standard input.',
    })
  return url.href.replace(/\/+$/, '')
}

async function findKey(keyFile: string | undefined, settings: Settings): Promise<string> {
  if (keyFile === '-') return readFileSync(0, 'utf8')
  if (keyFile !== undefined) return readInput(keyFile).text
  if (settings.apiKey !== undefined) return settings.apiKey
  if (!process.stdin.isTTY) return readAll(process.stdin)
  const { isCancel, password } = await import('@clack/prompts')
  const answer = await password({ message: 'API key' })
  if (isCancel(answer)) throw fault('usage', { message: 'No key was given.', hint: 'Give it by --key-file or WINDLASS_API_KEY.' })
  return answer
}

async function ask(question: string, option: string): Promise<string> {
  const nothing = fault('usage', { message: `${question} is not known.`, hint: `Give it by ${option}.` })
  if (!process.stdin.isTTY) throw nothing
  const { isCancel, text } = await import('@clack/prompts')
  const answer = await text({ message: question })
  if (isCancel(answer)) throw nothing
  return answer
}

/** `auth current`: which server, as whom, and whether it answers. */
export async function showCurrent({ out, settings }: Invocation<object>): Promise<void> {
  const session = openSession(settings)
  const status = await serverStatus(session.client)
  const me = await whoAmI(session.client)
  const rows = [
    ['Context:', session.context ?? '(from WINDLASS_URL)'],
    ['Server:', session.url],
    ['Version:', status.version],
    ['Key:', me.role === undefined ? me.name : `${me.name} (role ${me.role})`],
  ]
  for (const line of alignColumns(rows)) out.line(line)
}

/** `auth contexts`. */
export async function listContexts({ out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  if (config.contexts.length === 0)
    return out.note('No server is known. Log in with `windlass auth login`, or start one with `windlass up`.')
  const head = ['CURRENT', 'NAME', 'URL'].map((cell) => out.stdout.style.dim(cell))
  const rows = config.contexts.map(({ name, url }) => [name === config.current ? '*' : '', name, url])
  for (const line of alignColumns([head, ...rows])) out.line(line)
}

/** `auth use NAME`. */
export async function chooseContext({ args, out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  const context = config.contexts.find(({ name }) => name === args[0])
  if (context === undefined) throw missing(args[0] ?? '')
  writeConfigFile(settings.configFile, { ...config, current: context.name })
  out.line(`Now using ${context.url} (context '${context.name}').`)
}

/** `auth logout [NAME]`. */
export async function logout({ args, out, settings }: Invocation<object>): Promise<void> {
  const config = readConfigFile(settings.configFile)
  const name = args[0] ?? currentContext(config)?.name ?? ''
  if (!config.contexts.some((context) => context.name === name)) throw missing(name)
  const contexts = config.contexts.filter((context) => context.name !== name)
  const current = config.current === name ? contexts[0]?.name : config.current
  writeConfigFile(settings.configFile, { contexts, ...(current !== undefined && { current }) })
  out.line(`Context '${name}' is forgotten.`)
}

function missing(name: string): Error {
  return fault('not-found', { message: `There is no context '${name}'.`, hint: 'List them with `windlass auth contexts`.' })
}

import type { ApiClient } from '@windlass/client'
import { isLoopback } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { parseBaseUrl, RepoName, type Context } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { CONNECTED_FORGES, type ConnectedForge, type ForgeAccess } from '../../forges/hooks.ts'
import type { Printer } from '../../printer.ts'
import type { ConnectedForgeName } from '../../role-names.ts'
import { openSession, orUndefined } from '../../session.ts'
import { findSecret } from '../auth/credentials.ts'
import { connectRepo, createOpenWebhook, type Connected } from './webhooks.ts'

interface ConnectOptions {
  readonly forge: ConnectedForgeName | undefined
  readonly url: string | undefined
  readonly tokenFile: string | undefined
  readonly username: string | undefined
  readonly repo: readonly string[]
  readonly newSecret: boolean
  readonly output: 'json' | undefined
}

const MAX_TOKEN_CHARS = 16_384

/** Runs `connect git NAME`. Nothing is stored if the forge refuses the token for one of the repositories. */
export async function connectGit({ args, options, out, settings }: Invocation<ConnectOptions>): Promise<void> {
  const [name = ''] = args
  const { forge, username, newSecret } = options
  if (forge === undefined)
    throw fault('usage', { message: 'The forge is missing.', hint: 'Add `--forge github`, or another forge.' })
  const repos = [...new Set(options.repo.map(readRepo))]
  const kind: ConnectedForge = CONNECTED_FORGES[forge]
  const access: ForgeAccess = { url: readUrl(options.url ?? kind.publicUrl), token: await readToken(options.tokenFile), username }
  const { client } = openSession(settings)
  const api = kind.open(access)
  const known = new Map<string, Awaited<ReturnType<typeof api.list>>>()
  for (const repo of repos) known.set(repo, await api.list(repo))
  const context = await putContext(client, { name, access, gitUser: kind.gitUser })
  const webhooks: Connected[] = []
  if (repos.length === 0) webhooks.push(await createOpenWebhook(client, { name, forge, newSecret }))
  for (const [repo, hooks] of known)
    webhooks.push(await connectRepo({ client, api, context: name, forge, repo, hooks, newSecret }))
  if (options.output === 'json') return out.line(JSON.stringify({ context, webhooks }, null, 2))
  print(out, { context, webhooks, access })
}

function readRepo(text: string): string {
  const { data } = RepoName.safeParse(text)
  if (data === undefined)
    throw fault('usage', { message: `"${text}" is not a repository.`, hint: 'Write it as `--repo OWNER/NAME`.' })
  return data
}

function readUrl(text: string | undefined): string {
  if (text === undefined) throw fault('usage', { message: 'The URL of the forge is missing.', hint: 'Add `--url https://HOST`.' })
  const url = parseBaseUrl(text)
  if (url === undefined)
    throw fault('usage', {
      message: 'The value of --url is not the base URL of a forge.',
      hint: 'Use http://HOST:PORT or https://HOST, without user name, password, query and fragment. Pass the token with --token-file.',
    })
  return url
}

async function readToken(file: string | undefined): Promise<string> {
  const hint = 'Pass it with --token-file, or on standard input.'
  const token = (await findSecret({ file, given: undefined, question: 'Access token of the forge', hint })).trim()
  if (token.length <= MAX_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(token)) return token
  throw fault('usage', { message: 'The text is not an access token.', hint })
}

interface ContextChange {
  readonly name: string
  readonly access: ForgeAccess
  readonly gitUser: string
}

interface ContextState {
  readonly name: string
  readonly state: 'created' | 'updated'
}

/** Creates the Git context, or gives an existing one the URL and the token. Its other fields stay. Throws `conflict` for a context of another type. */
async function putContext(client: ApiClient, { name, access, gitUser }: ContextChange): Promise<ContextState> {
  const existing: Context | undefined = await orUndefined(client.contexts.get(name))
  if (existing !== undefined && existing.type !== 'git')
    throw fault('conflict', {
      message: `The context "${name}" exists and has the type ${existing.type}.`,
      hint: 'Use another name.',
    })
  const data = { ...existing?.data, url: access.url, username: access.username ?? gitUser, password: access.token }
  await client.contexts.put(name, { name, type: 'git', isDefault: existing?.isDefault ?? false, data })
  return { name, state: existing === undefined ? 'created' : 'updated' }
}

interface Result {
  readonly context: ContextState
  readonly webhooks: readonly Connected[]
  readonly access: ForgeAccess
}

function print(out: Printer, { context, webhooks, access }: Result): void {
  out.line(`context/${context.name} ${context.state}`)
  for (const { name, state, repo, hook, url, secret } of webhooks) {
    out.line(`webhook/${name} ${state}`)
    if (hook !== undefined) out.line(`webhook of ${repo} at ${new URL(access.url).host} ${hook}`)
    if (secret === undefined) continue
    out.note(`Enter this address at the forge: ${url}`)
    out.note('Its secret, which is not shown again:')
    out.line(secret)
  }
  const [first] = webhooks
  if (first === undefined || !isLoopback(first.url) || isLoopback(access.url)) return
  out.note(`A forge on another machine cannot reach ${new URL(first.url).origin}. Set the address of the server with`)
  out.note('WINDLASS_SERVER_ADVERTISED_URL or `windlass up --advertise`, and repeat this command.')
}

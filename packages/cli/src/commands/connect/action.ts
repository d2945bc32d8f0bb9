import type { ApiClient } from '@windlass/client'
import { isLoopback } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { AppForge, parseBaseUrl, RepoName, type Context, type OauthApp } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { CONNECTED_FORGES, type ConnectedForge, type ForgeAccess } from '../../forges/hooks.ts'
import { connectThrough, openAppProxy } from '../../forges/proxy-hooks.ts'
import { signIn } from '../../forges/sign-in.ts'
import { readTokenFile } from '../../input/token-file.ts'
import type { Printer } from '../../printer.ts'
import type { ConnectedForgeName } from '../../role-names.ts'
import { openSession, orUndefined } from '../../session/session.ts'
import { findSecret } from '../auth/credentials.ts'
import { connectRepo, createOpenWebhook, type Connected } from './webhooks.ts'

interface ConnectOptions {
  readonly forge: ConnectedForgeName | undefined
  readonly url: string | undefined
  readonly tokenFile: string | undefined
  readonly username: string | undefined
  readonly oauthApp: string | undefined
  readonly oauthSecretFile: string | undefined
  readonly noBrowser: boolean
  readonly callbackPort: number | undefined
  readonly repo: readonly string[]
  readonly appProxy: string | undefined
  readonly integration: string | undefined
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
  const url = readUrl(options.url ?? kind.publicUrl)
  const { client } = openSession(settings)
  // The server is asked first, so that no sign-in is wasted.
  const existing = await findGitContext(client, name)
  const login =
    options.oauthApp === undefined
      ? await readLogin(options)
      : await signInWithApp(options, { forge: requireAppForge(forge), url }, { out, settings })
  const access: ForgeAccess = { url, token: login.token, username }
  const proxy = options.appProxy === undefined ? undefined : await openAppProxy(client, options.appProxy, settings)
  const api =
    proxy === undefined
      ? kind.open(access)
      : await connectThrough(proxy, { integration: options.integration ?? name, forge, access })
  const appProxy = proxy && { runtime: proxy.name, integration: options.integration ?? name }
  const known = new Map<string, Awaited<ReturnType<typeof api.list>>>()
  for (const repo of repos) known.set(repo, await api.list(repo))
  const context = await putContext(client, { name, existing, access, gitUser: kind.gitUser, renewal: login.renewal })
  const webhooks: Connected[] = []
  if (repos.length === 0) webhooks.push(await createOpenWebhook(client, { name, forge, newSecret, appProxy }))
  for (const [repo, hooks] of known)
    webhooks.push(await connectRepo({ client, api, context: name, appProxy, forge, repo, hooks, newSecret }))
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

/** What the server needs to renew a token; empty for one that does not expire. */
type Renewal = Readonly<Record<string, string>>

interface Login {
  readonly token: string
  readonly renewal: Renewal
}

async function readLogin({ oauthSecretFile, tokenFile }: ConnectOptions): Promise<Login> {
  if (oauthSecretFile !== undefined)
    throw fault('usage', {
      message: '--oauth-secret-file needs --oauth-app.',
      hint: 'Add the client ID of the app with --oauth-app.',
    })
  return { token: await readToken(tokenFile), renewal: {} }
}

/** Throws `usage` for a forge without OAuth apps. */
function requireAppForge(forge: ConnectedForgeName): AppForge {
  const { data } = AppForge.safeParse(forge)
  if (data !== undefined) return data
  throw fault('usage', {
    message: `Forges of the kind ${forge} have no OAuth apps here.`,
    hint: 'Use an access token with --token-file.',
  })
}

async function signInWithApp(
  { oauthApp: id = '', oauthSecretFile, tokenFile, username, noBrowser, callbackPort: port = 0 }: ConnectOptions,
  { forge, url }: Pick<OauthApp, 'forge' | 'url'>,
  { out, settings }: Pick<Invocation<object>, 'out' | 'settings'>,
): Promise<Login> {
  if (tokenFile !== undefined || username !== undefined)
    throw fault('usage', { message: '--oauth-app excludes --token-file and --username.', hint: 'Use one kind of login.' })
  const secret = oauthSecretFile === undefined ? undefined : readTokenFile(oauthSecretFile)
  const tokens = await signIn(
    { forge, url, id, secret },
    { browserOf: noBrowser ? undefined : settings.environment, port, input: process.stdin, out },
  )
  const { accessToken: token, refreshToken, expiresIn } = tokens
  if (expiresIn === undefined) return { token, renewal: {} }
  if (refreshToken === undefined)
    throw fault('forge-refused', {
      message: `The forge at ${new URL(url).host} returned a token that expires, and no refresh token.`,
      hint: 'Allow refresh tokens in the settings of the app, or use an access token with --token-file.',
    })
  const app = { oauthForge: forge, oauthApp: id, ...(secret !== undefined && { oauthSecret: secret }) }
  return { token, renewal: { ...app, oauthExpiresIn: String(expiresIn), oauthRefreshToken: refreshToken } }
}

async function readToken(file: string | undefined): Promise<string> {
  const hint = 'Pass it with --token-file, or on standard input.'
  const token = (await findSecret({ file, given: undefined, question: 'Access token of the forge', hint })).trim()
  if (token.length <= MAX_TOKEN_CHARS && /^[\x21-\x7e]+$/.test(token)) return token
  throw fault('usage', { message: 'The text is not an access token.', hint })
}

interface ContextChange {
  readonly name: string
  /** The stored context. */
  readonly existing: Context | undefined
  readonly access: ForgeAccess
  readonly gitUser: string
  readonly renewal: Renewal
}

interface ContextState {
  readonly name: string
  readonly state: 'created' | 'updated'
}

/** Returns the Git context. Throws `conflict` for a context of another type. */
async function findGitContext(client: ApiClient, name: string): Promise<Context | undefined> {
  const existing: Context | undefined = await orUndefined(client.contexts.get(name))
  if (existing === undefined || existing.type === 'git') return existing
  throw fault('conflict', {
    message: `The context "${name}" exists and has the type ${existing.type}.`,
    hint: 'Use another name.',
  })
}

/** Creates the Git context, or gives an existing one the URL and the token. Its other fields stay, except those that renew an earlier token. */
async function putContext(client: ApiClient, change: ContextChange): Promise<ContextState> {
  const { name, existing, access, gitUser, renewal } = change
  const kept = Object.entries(existing?.data ?? {}).filter(([field]) => !field.startsWith('oauth'))
  const login = { url: access.url, username: access.username ?? gitUser, password: access.token, ...renewal }
  const data = { ...Object.fromEntries(kept), ...login }
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

import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { startPostgres } from './postgres.ts'
import { freePort, runProgram, startService } from './process.ts'

export type GiteaUser = {
  readonly name: string
  readonly password: string
  /** Access token with all scopes. */
  readonly token: string
  /** Calls the API: a path below `/api/v1`. Returns the answer. Throws for a status that is not 2xx. */
  api(method: string, path: string, body?: object): Promise<unknown>
  /** Environment in which git sends the name and the password of the user to Gitea, without a command line that contains them. */
  readonly gitEnv: Readonly<Record<string, string>>
}

/** A Gitea that runs, and its administrator. Data, so that it can be handed to other processes. */
export type GiteaPlace = {
  readonly url: string
  readonly admin: Pick<GiteaUser, 'name' | 'password' | 'token'>
}

export type Forge = {
  /** Base URL without a trailing slash. A repository is `${url}/owner/name.git`. */
  readonly url: string
  readonly admin: GiteaUser
  addUser(name: string): Promise<GiteaUser>
}

export type Gitea = Forge & {
  /** The last output, for messages. */
  log(): string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export type GiteaOptions = {
  /** Address to listen on, default 127.0.0.1. Containers need one that they can reach. */
  host?: string
  port?: number
  /** Lifetime of the access tokens of OAuth apps, seconds. Default: no OAuth apps. Each refresh token is then accepted only once. */
  tokenSeconds?: number
}

/**
 * Starts the pinned Gitea with an empty PostgreSQL and an administrator. It sends webhooks to every address of this machine and of private networks.
 * Takes about six seconds, after `scripts/gitea/build` has compiled it once.
 */
export async function startGitea(options: GiteaOptions = {}): Promise<Gitea> {
  const { host = '127.0.0.1' } = options
  const program = await findGitea()
  const port = options.port ?? (await freePort())
  const url = `http://${host}:${port}`
  const folder = await mkdtemp(join(tmpdir(), 'windlass-gitea-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  const postgres = parts.use(await startPostgres({ isDurable: false }))
  await mkdir(join(folder, 'custom/conf'), { recursive: true })
  const config = toIni(
    settingsOf({ program, folder, host, port, database: new URL(postgres.url), tokenSeconds: options.tokenSeconds }),
  )
  await writeFile(join(folder, 'custom/conf/app.ini'), config, { mode: 0o600 })
  const env = { GITEA_WORK_DIR: folder, GITEA_CUSTOM: join(folder, 'custom'), HOME: folder }
  const command = join(program, 'gitea')
  const service = await startService({ command, args: ['web'], cwd: folder, env, ready: () => answers(`${url}/api/v1/version`) })
  parts.defer(() => service.stop())
  const said = await runProgram(command, CREATE_ADMIN, { cwd: folder, env: { ...process.env, ...env } })
  const password = /generated random password is '(.*)'$/m.exec(said)?.[1]
  const token = /Access token was successfully created\.\.\. (\w+)/.exec(said)?.[1]
  if (password === undefined || token === undefined) throw new Error(`gitea admin user create said: ${said}`)
  const owned = parts.move()
  const close = (): Promise<void> => owned.disposeAsync()
  const forge = joinGitea({ url, admin: { name: ADMIN, password, token } })
  return { ...forge, log: service.log, close, [Symbol.asyncDispose]: close }
}

/** Returns the calls of a Gitea that another process has started. */
export function joinGitea({ url, admin: { name, password, token } }: GiteaPlace): Forge {
  const admin = toUser(url, { name, password, token })
  return { url, admin, addUser: (user) => addUser(url, admin, user) }
}

const ADMIN = 'operator'
/** Gitea generates the password and the token, so that neither is on a command line. */
const CREATE_ADMIN =
  `admin user create --admin --username ${ADMIN} --email ${ADMIN}@example.com --random-password --must-change-password=false --access-token`.split(
    ' ',
  )

/** Returns the folder of the compiled Gitea. */
async function findGitea(): Promise<string> {
  const prepared = process.env['GITEA']
  if (prepared !== undefined) return prepared
  const line = await runProgram(join(import.meta.dirname, '../../scripts/gitea/build'), [])
  const folder = /GITEA=(\S+)/.exec(line)?.[1]
  if (folder === undefined) throw new Error(`scripts/gitea/build said: ${line}`)
  return folder
}

interface Place {
  readonly program: string
  readonly folder: string
  readonly host: string
  readonly port: number
  readonly database: URL
  readonly tokenSeconds: number | undefined
}

type Settings = Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>

function settingsOf({ program, folder, host, port, database, tokenSeconds }: Place): Settings {
  const url = `http://${host}:${port}/`
  return {
    // Root is the user in containers that run the tests.
    '': {
      APP_NAME: 'Gitea',
      RUN_MODE: 'prod',
      RUN_USER: userInfo().username,
      I_AM_BEING_UNSAFE_RUNNING_AS_ROOT: userInfo().uid === 0,
    },
    server: {
      PROTOCOL: 'http',
      HTTP_ADDR: host,
      HTTP_PORT: port,
      DOMAIN: host,
      ROOT_URL: url,
      LOCAL_ROOT_URL: url,
      STATIC_ROOT_PATH: program,
      APP_DATA_PATH: join(folder, 'data'),
      DISABLE_SSH: true,
      OFFLINE_MODE: true,
      LFS_START_SERVER: true,
      LFS_JWT_SECRET: randomBytes(32).toString('base64url'),
    },
    lfs: { PATH: join(folder, 'lfs') },
    database: {
      DB_TYPE: 'postgres',
      HOST: database.host,
      NAME: database.pathname.slice(1),
      USER: database.username,
      PASSWD: database.password,
      SSL_MODE: 'disable',
      LOG_SQL: false,
    },
    security: {
      INSTALL_LOCK: true,
      SECRET_KEY: randomBytes(24).toString('hex'),
      INTERNAL_TOKEN: randomBytes(48).toString('hex'),
    },
    oauth2: {
      ENABLED: tokenSeconds !== undefined,
      JWT_SECRET: randomBytes(32).toString('base64url'),
      ACCESS_TOKEN_EXPIRATION_TIME: tokenSeconds ?? 3600,
      INVALIDATE_REFRESH_TOKENS: true,
    },
    service: { DISABLE_REGISTRATION: true, ENABLE_NOTIFY_MAIL: false },
    repository: { ROOT: join(folder, 'repositories'), DEFAULT_BRANCH: 'main', ENABLE_PUSH_CREATE_USER: false },
    webhook: { ALLOWED_HOST_LIST: 'loopback,private', DELIVER_TIMEOUT: 60 },
    indexer: { ISSUE_INDEXER_TYPE: 'db', REPO_INDEXER_ENABLED: false },
    queue: { TYPE: 'channel' },
    cache: { ADAPTER: 'memory' },
    session: { PROVIDER: 'memory' },
    log: { MODE: 'console', LEVEL: 'Warn', ROOT_PATH: join(folder, 'log') },
    actions: { ENABLED: false },
    packages: { ENABLED: false },
    'cron.update_checker': { ENABLED: false },
  }
}

function toIni(settings: Settings): string {
  const lines = Object.entries(settings).flatMap(([section, values]) => [
    ...(section === '' ? [] : [`[${section}]`]),
    ...Object.entries(values).map(([name, value]) => `${name} = ${value}`),
  ])
  return `${lines.join('\n')}\n`
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok
  } catch {
    return false
  }
}

async function addUser(url: string, admin: GiteaUser, name: string): Promise<GiteaUser> {
  const password = randomBytes(12).toString('hex')
  await admin.api('POST', '/admin/users', { username: name, email: `${name}@example.com`, password, must_change_password: false })
  const authorization = basic(name, password)
  const made = await call({ url, authorization }, 'POST', `/users/${name}/tokens`, { name: 'tests', scopes: ['all'] })
  return toUser(url, { name, password, token: z.object({ sha1: z.string() }).parse(made).sha1 })
}

function toUser(url: string, { name, password, token }: Pick<GiteaUser, 'name' | 'password' | 'token'>): GiteaUser {
  return {
    name,
    password,
    token,
    api: (method, path, body) => call({ url, authorization: `token ${token}` }, method, path, body),
    gitEnv: {
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `http.${url}/.extraHeader`,
      GIT_CONFIG_VALUE_0: `Authorization: ${basic(name, password)}`,
    },
  }
}

function basic(name: string, password: string): string {
  return `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
}

interface Caller {
  readonly url: string
  readonly authorization: string
}

async function call({ url, authorization }: Caller, method: string, path: string, body?: object): Promise<unknown> {
  const headers = { authorization, 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(30_000)
  const request = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const answer = await fetch(`${url}/api/v1${path}`, request)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`Gitea answered ${answer.status} to ${method} ${path}: ${text.slice(0, 500)}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** `windlass up`: server, agent and engine in one process, on the Docker of this machine. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '@windlass/agent'
import { openClient, type ApiClient } from '@windlass/client'
import { openDocker } from '@windlass/engine'
import { isFault, nodeTransport, splitList, writePrivateFile, type Clock, type Logger } from '@windlass/kit'
import { findAdminKey, readKeyFile } from './admin-key.ts'
import { openDockerHost } from './docker-host.ts'

export interface LocalServerOptions {
  /** Folder for all data; created with mode 0700 if it does not exist. */
  readonly dataDir: string
  readonly host: string
  /** 0 selects any free port. */
  readonly port: number
  /** Base URL at which others reach the server. Default: the listen address. */
  readonly advertisedUrl?: string | undefined
  readonly databaseUrl?: string | undefined
  /** A folder or `s3://bucket/prefix`. Default: in the data folder. */
  readonly logsUrl?: string | undefined
  /** Admin key, for a database that was set up elsewhere. */
  readonly adminKey?: string | undefined
  /** The user's environment, which determines how to reach Docker, and has credentials of clouds. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Logger
}

export interface LocalServer {
  /** Base URL, without `/v1`. */
  readonly url: string
  /** Key of the first admin. */
  readonly adminKey: string
  /** Version of the Docker daemon. */
  readonly dockerVersion: string
  /** Rejects if the agent cannot continue. */
  readonly failed: Promise<never>
  /** Stops running steps. Their builds continue with another attempt after the next start. */
  close(): Promise<void>
}

/** Name of the runtime environment and of the agent that serves it. */
export const LOCAL_RUNTIME = 'local'
/** File in the folder of the server with the key of the first admin. Does not exist if the server was set up elsewhere. */
const ADMIN_TOKEN_FILE = 'admin.token'
const STOP_GRACE_MS = 2_000

/** Starts everything and resolves when builds can run. Throws `docker-unreachable`, `store-locked`, `config-invalid`. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { dataDir, clock, log, environment } = options
  await using stack = new AsyncDisposableStack()
  // Imported lazily, because local runs need neither, and loading the server takes a quarter of a second.
  const [{ dockerExecutor, startAgent }, { BOOTSTRAP_CODE_FILE, createRecoveryKey, startServer }] = await Promise.all([
    import('@windlass/agent'),
    import('@windlass/server'),
  ])
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const docker = await openDocker({ env: environment })
  stack.defer(() => docker.close())
  const serverDir = join(dataDir, 'server')
  const { host, port, advertisedUrl, databaseUrl, logsUrl } = options
  const reach = { host, port, advertisedUrl }
  const stores = { dataDir: serverDir, databaseUrl, logsUrl, environment }
  // The same setting as that of the server, for a forge in a private network.
  const outboundNetworks = splitList(environment['WINDLASS_SERVER_OUTBOUND_NETWORKS'] ?? '')
  const server = await startServer({ ...reach, ...stores, outboundNetworks, clock, log: log.child({ part: 'server' }) })
  stack.defer(() => server.close())
  const transport = nodeTransport()
  const adminKey =
    options.adminKey ??
    (await findAdminKey(openClient({ url: server.url, transport }), {
      keyFile: join(serverDir, ADMIN_TOKEN_FILE),
      codeFile: join(serverDir, BOOTSTRAP_CODE_FILE),
      ...(databaseUrl === undefined && { recover: async () => (await createRecoveryKey(server.app)).token }),
    }))
  const admin = openClient({ url: server.url, token: adminKey, transport })
  const agentToken = await prepareAgent(admin, join(dataDir, 'agent.token'))
  const parts = await openDockerHost({
    docker,
    serverUrl: server.url,
    folder: join(dataDir, 'agent'),
    environment,
    clock,
    log: log.child({ part: 'engine' }),
  })
  const client = openClient({ url: server.url, token: agentToken, transport })
  const agent = startAgent({ client, executor: dockerExecutor(parts), clock, log: log.child({ part: 'agent' }) })
  stack.defer(() => agent.close(STOP_GRACE_MS))
  await agent.ready
  const held = stack.move()
  return { url: server.url, adminKey, dockerVersion: docker.version, failed: endOf(agent), close: () => held.disposeAsync() }
}

/** Creates the agent and its runtime if they do not exist. Returns the token of the agent. */
async function prepareAgent(admin: ApiClient, tokenFile: string): Promise<string> {
  let token = await readKeyFile(tokenFile)
  if (token === undefined) {
    const agent = await createAgent(admin)
    token = agent.token
    writePrivateFile(tokenFile, `${token}\n`, { replace: true })
  }
  await createRuntime(admin)
  return token
}

/** Creates the agent. An existing one gets a new token, because the old one is lost, and finds out what became of its attempts. */
async function createAgent(admin: ApiClient): Promise<{ token: string }> {
  const body = { name: LOCAL_RUNTIME, runtimes: [LOCAL_RUNTIME] }
  try {
    return await admin.agents.create(body)
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    return admin.agents.renewToken(LOCAL_RUNTIME)
  }
}

/** Creates the runtime if it does not exist. It becomes the default if there is no other default. */
async function createRuntime(admin: ApiClient): Promise<void> {
  const { items } = await admin.runtimes.list()
  if (items.some(({ name }) => name === LOCAL_RUNTIME)) return
  const isDefault = !items.some((runtime) => runtime.isDefault)
  await admin.runtimes.create({ name: LOCAL_RUNTIME, type: 'docker', agent: LOCAL_RUNTIME, isDefault })
}

function endOf(agent: Agent): Promise<never> {
  const failed = agent.ended.then(() => new Promise<never>(() => undefined))
  failed.catch(() => undefined)
  return failed
}

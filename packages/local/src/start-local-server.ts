/** `windlass up`: server, agent and engine in one process, on the Docker of this machine. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Agent } from '@windlass/agent'
import { openDocker } from '@windlass/engine'
import { fault, isFault, nodeTransport, type Clock, type Logger } from '@windlass/kit'
import { AgentCreated, ApiKeyCreated, createClient, page, Runtime, type Client } from '@windlass/protocol'
import type { z } from 'zod'
import { openDockerHost } from './docker-host.ts'

export interface LocalServerOptions {
  /** Everything is kept here; made with mode 0700 when missing. */
  readonly dataDir: string
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  readonly databaseUrl?: string | undefined
  /** Key of an admin, for a database that was set up from elsewhere. */
  readonly adminKey?: string | undefined
  /** The user's environment: how to reach Docker. */
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
  /** Rejects when the agent cannot go on. */
  readonly failed: Promise<never>
  /** Stops the steps that run; their builds go on as another attempt after the next start. */
  close(): Promise<void>
}

/** Name of the runtime environment, and of the agent that serves it. */
export const LOCAL_RUNTIME = 'local'
const STOP_GRACE_MS = 2_000

/** Starts everything and resolves when builds can run. Throws `docker-unreachable`, `store-locked`, `config-invalid`. */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { dataDir, clock, log, environment } = options
  await using stack = new AsyncDisposableStack()
  // Loaded here, because local runs need neither, and a server takes a quarter of a second to load.
  const [{ dockerExecutor, startAgent }, { ADMIN_TOKEN_FILE, startServer }] = await Promise.all([
    import('@windlass/agent'),
    import('@windlass/server'),
  ])
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const docker = await openDocker({ env: environment })
  stack.defer(() => docker.close())
  const serverDir = join(dataDir, 'server')
  const { host, port, databaseUrl } = options
  const server = await startServer({ dataDir: serverDir, host, port, databaseUrl, clock, log: log.child({ part: 'server' }) })
  stack.defer(() => server.close())
  const transport = nodeTransport()
  const adminKey =
    options.adminKey ?? (await findAdminKey(createClient({ url: server.url, transport }), join(serverDir, ADMIN_TOKEN_FILE)))
  const admin = createClient({ url: server.url, token: adminKey, transport })
  const agentToken = await prepareAgent(admin, join(dataDir, 'agent.token'))
  const parts = await openDockerHost({
    docker,
    serverUrl: server.url,
    folder: join(dataDir, 'agent'),
    environment,
    clock,
    log: log.child({ part: 'engine' }),
  })
  const client = createClient({ url: server.url, token: agentToken, transport })
  const agent = startAgent({ client, executor: dockerExecutor(parts), clock, log: log.child({ part: 'agent' }) })
  stack.defer(() => agent.close(STOP_GRACE_MS))
  await agent.ready
  const held = stack.move()
  return { url: server.url, adminKey, dockerVersion: docker.version, failed: endOf(agent), close: () => held.disposeAsync() }
}

/** The server leaves the key of its first admin in its folder; it is made when there is none yet. */
async function findAdminKey(nobody: Client, file: string): Promise<string> {
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  if (kept !== undefined) return kept.trim()
  try {
    return (await nobody.call('POST', '/v1/bootstrap', ApiKeyCreated, { body: {} })).token
  } catch (error) {
    if (!isFault(error, 'bootstrap-closed')) throw error
    throw fault(
      'unauthenticated',
      {
        message: 'This database has an admin already, whose key is not in the data folder.',
        hint: 'Set WINDLASS_API_KEY to the key of an admin.',
      },
      error,
    )
  }
}

/** The agent and its runtime exist from now on; resolves to the agent's token. */
async function prepareAgent(admin: Client, tokenFile: string): Promise<string> {
  let token = await readFile(tokenFile, 'utf8').catch(() => undefined)
  if (token === undefined) {
    const agent = await createAgent(admin)
    token = agent.token
    await writeFile(tokenFile, token, { mode: 0o600 })
  }
  await createRuntime(admin)
  return token
}

/** An agent whose token is lost is of no use: a new one takes its place. */
async function createAgent(admin: Client): Promise<z.infer<typeof AgentCreated>> {
  const body = { name: LOCAL_RUNTIME, runtimes: [LOCAL_RUNTIME] }
  try {
    return await admin.call('POST', '/v1/agents', AgentCreated, { body })
  } catch (error) {
    if (!isFault(error, 'conflict')) throw error
    await admin.text('DELETE', `/v1/agents/${LOCAL_RUNTIME}`)
    return admin.call('POST', '/v1/agents', AgentCreated, { body })
  }
}

/** The default one, unless another is. */
async function createRuntime(admin: Client): Promise<void> {
  const { items } = await admin.call('GET', '/v1/runtimes', page(Runtime), { query: { limit: 500 } })
  if (items.some(({ name }) => name === LOCAL_RUNTIME)) return
  const isDefault = !items.some((runtime) => runtime.isDefault)
  await admin.call('POST', '/v1/runtimes', Runtime, {
    body: { name: LOCAL_RUNTIME, type: 'docker', agent: LOCAL_RUNTIME, isDefault },
  })
}

function endOf(agent: Agent): Promise<never> {
  const failed = agent.ended.then(() => new Promise<never>(() => undefined))
  failed.catch(() => undefined)
  return failed
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeTransport } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Transport } from '@windlass/protocol'
import { type Cluster, startCluster } from './cluster.ts'
import { codeFileOf } from './first-admin.ts'
import { ensureImages } from './images.ts'
import { freePort, type Service, startService } from './process.ts'
import { NODE, programFile, type ProgramName, WINDLASS } from './programs.ts'
import { applyRoles } from './roles.ts'

const root = join(import.meta.dirname, '../..')

/** The output of a command, and its exit code. */
export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A process of the project that a test can kill and restart. */
export interface Restartable {
  /** Sends SIGKILL. */
  kill9(): Promise<void>
  /** Sends a signal and does not wait for its effect. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when the process has ended, or null if a signal ended it. */
  ended(): Promise<number | null>
  /** Process id of the running process. */
  pid(): number
  /** Restarts it on the same data and port. */
  start(): Promise<void>
  log(): string
}

/** A control plane and an agent as processes on this machine, for a namespace of the one-node cluster. */
export interface Installation {
  readonly cluster: Cluster
  readonly namespace: string
  readonly url: string
  readonly server: Restartable
  readonly agent: Restartable
  /** The API as the first admin. */
  readonly client: ApiClient
  readonly adminToken: string
  /** Starts a further agent process with the same identity. */
  addAgent(): Promise<Restartable>
  /** Image references by variable, as examples name them. */
  readonly images: Readonly<Record<string, string>>
  /** Writes a file into the folder of this installation, and returns its path. */
  file(name: string, text: string): Promise<string>
  /** Runs the `windlass` command as the first admin. */
  windlass(...args: string[]): Promise<Finished>
  kubectl(...args: string[]): Promise<string>
  close(): Promise<void>
}

/** Settings in addition to the common ones of every installation. */
export interface InstallationOptions {
  readonly serverEnv?: Readonly<Record<string, string>>
  readonly agentEnv?: Readonly<Record<string, string>>
  /** Environment of the command line. */
  readonly userEnv?: Readonly<Record<string, string>>
  /** Public URL of the server, if it is not an address of the node. `transport` is how the tests reach it. */
  readonly edge?: { readonly url: string; readonly port: number; readonly transport: Transport }
  /** Fields of the engine and daemon sections of the runtime. */
  readonly engine?: object
  readonly daemon?: object
}

/**
 * Installs what `docs` tell a user to install: namespace, roles, service accounts, agent. The agent has only the rights of
 * `packages/agent/rbac/role.yaml`. Pods reach the server at the address of the node.
 */
export async function startInstallation(namespace: string, options: InstallationOptions = {}): Promise<Installation> {
  const images = await ensureImages('shell', 'debian', 'node', 'tools', 'dind', 'windlass')
  const cluster = await startCluster()
  await cluster.load(...[images['DIND_IMAGE'], images['WINDLASS_IMAGE']].filter((image) => image !== undefined))
  const folder = await mkdtemp(join(tmpdir(), `${namespace}-`))
  const kubectl = (...args: string[]): Promise<string> => cluster.kubectl('--namespace', namespace, ...args)
  const kubeconfig = await installRoles(cluster, { namespace, folder })

  const port = options.edge?.port ?? (await freePort())
  const url = options.edge?.url ?? `http://${cluster.host}:${port}`
  const transport = options.edge?.transport ?? nodeTransport({ maxSockets: 64 })
  const answers = async (): Promise<boolean> =>
    transport({ method: 'GET', url: `${url}/readyz`, headers: {}, timeoutMs: 1_000 }).then(
      ({ status }) => status === 200,
      () => false,
    )
  const server = await restartable('server', answers, {
    WINDLASS_SERVER_DATA_DIR: join(folder, 'server'),
    WINDLASS_SERVER_PORT: String(port),
    WINDLASS_SERVER_ADVERTISED_URL: url,
    ...options.serverEnv,
  })
  const environment = { ...process.env, WINDLASS_CONFIG: join(folder, 'config.yaml'), NO_COLOR: '1', ...options.userEnv }
  const windlass = (...args: string[]): Promise<Finished> => finish(WINDLASS, args, environment)
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const codeFile = codeFileOf(join(folder, 'server'))
  await mustSucceed(windlass('auth', 'login', '--url', url, '--first-admin', '--code-file', codeFile))
  const token = (await mustSucceed(windlass('create', 'agent', 'one-node'))).stdout.trim()
  await mustSucceed(windlass('apply', '-f', await file('runtime.yml', JSON.stringify(runtimeOf(namespace, options)))))

  const tokenFile = await file('agent.token', token)
  const agents: Restartable[] = []
  const addAgent = async (): Promise<Restartable> => {
    const health = await freePort()
    const agent = await restartable('agent', `http://127.0.0.1:${health}/readyz`, {
      WINDLASS_AGENT_SERVER_URL: url,
      WINDLASS_AGENT_TOKEN_FILE: tokenFile,
      WINDLASS_AGENT_KUBECONFIG: kubeconfig,
      WINDLASS_AGENT_NAMESPACES: namespace,
      WINDLASS_AGENT_VOLUME_DIR: join(folder, 'volumes'),
      WINDLASS_AGENT_PORT: String(health),
      WINDLASS_AGENT_STATE_DIR: join(folder, `agent-state-${agents.length}`),
      WINDLASS_AGENT_SWEEP_MS: '2000',
      ...options.agentEnv,
    })
    agents.push(agent)
    return agent
  }
  const agent = await addAgent()
  const close = async (): Promise<void> => {
    for (const one of agents) await one.kill9()
    await server.kill9()
    // Pods hold their disks and are deleted within a second. The namespace takes long to empty, so its deletion is not awaited.
    await kubectl('delete', 'pods', '--all', '--grace-period=1', '--timeout=60s')
    await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
    await cluster.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${namespace}`, '--timeout=60s')
    await cluster.kubectl('delete', 'clusterrole,clusterrolebinding', namespace, '--ignore-not-found')
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  const adminToken = await readAdminToken(folder)
  const client = openClient({ url, transport, token: adminToken })
  return { cluster, namespace, url, server, agent, client, adminToken, addAgent, images, file, windlass, kubectl, close }
}

/** Returns the token that the command line stored at login. */
async function readAdminToken(folder: string): Promise<string> {
  const config = await readFile(join(folder, 'config.yaml'), 'utf8')
  return /apiKey: "?([^\s"]+)/.exec(config)?.[1] ?? ''
}

/** Small, so that the builds of several installations fit on one small node at the same time. */
const DAEMON_REQUESTS = { cpu: '100m', memory: '128Mi' }

/** The storage class of disks is named after the namespace, as users have it, so installations do not share a pool. */
function runtimeOf(namespace: string, { engine, daemon }: InstallationOptions): object {
  const runtimeScheduler = { cluster: { namespace }, ...engine }
  const defaultDindResources = { requests: DAEMON_REQUESTS }
  const dockerDaemonScheduler = {
    defaultDindResources,
    ...daemon,
    pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${namespace}` } },
  }
  const spec = { type: 'kubernetes', agent: 'one-node', isDefault: true, runtimeScheduler, dockerDaemonScheduler }
  return { kind: 'runtime', metadata: { name: namespace }, spec }
}

/** Creates namespace, roles and accounts. Returns the path of a kubeconfig that has only the rights of the agent. */
async function installRoles(cluster: Cluster, { namespace, folder }: { namespace: string; folder: string }): Promise<string> {
  const account = (name: string): object => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } })
  const subjects = [{ kind: 'ServiceAccount', name: 'windlass-agent', namespace }]
  const binding = (kind: string, role: { kind: string; name: string }, metadata: object): object => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
    subjects,
  })
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await applyRoles(cluster, join(root, 'packages/agent/rbac/role.yaml'), { namespace, clusterRole: namespace })
  await cluster.apply(
    account('windlass-agent'),
    account('windlass-engine'),
    binding('RoleBinding', { kind: 'Role', name: 'windlass-agent' }, { name: 'windlass-agent', namespace }),
    binding('ClusterRoleBinding', { kind: 'ClusterRole', name: namespace }, { name: namespace }),
  )
  const token = await cluster.kubectl('--namespace', namespace, 'create', 'token', 'windlass-agent', '--duration=2h')
  const admin = JSON.parse(await cluster.kubectl('config', 'view', '--raw', '--output', 'json'))
  const config = { ...admin, users: [{ name: 'agent', user: { token } }] }
  config.contexts = [{ name: 'agent', context: { cluster: admin.clusters[0].name, user: 'agent', namespace } }]
  config['current-context'] = 'agent'
  const path = join(folder, 'agent.kubeconfig')
  await writeFile(path, JSON.stringify(config), { mode: 0o600 })
  return path
}

export interface RestartableOptions {
  /** Whether it is started again when it ends by itself, as Kubernetes does with the container of a pod. False by default. */
  readonly asPod?: boolean
}

/** Starts a program of the project. It is ready when a URL responds, or when `ready` returns true. */
export async function restartable(
  name: ProgramName,
  ready: string | (() => Promise<boolean>),
  env: Record<string, string>,
  { asPod = false }: RestartableOptions = {},
): Promise<Restartable> {
  let service: Service
  let restart = Promise.resolve()
  /** The output of the processes that were replaced. */
  let earlier = ''
  const killed = new WeakSet<Service>()
  const start = async (): Promise<void> => {
    service = await startService({
      command: NODE,
      args: [programFile(name)],
      env,
      ready: typeof ready === 'string' ? () => isOk(ready) : ready,
    })
    if (asPod) void keep(service)
  }
  const keep = async (running: Service): Promise<void> => {
    await running.ended()
    if (killed.has(running)) return
    restart = start().then(() => void (earlier += running.log()))
    // `kill9` reports it.
    restart.catch(() => undefined)
  }
  await start()
  return {
    kill9: async () => {
      await restart
      killed.add(service)
      await service.stop('SIGKILL')
    },
    signal: (name) => service.signal(name),
    ended: () => service.ended(),
    pid: () => service.pid,
    start,
    log: () => earlier + service.log(),
  }
}

/**
 * Returns whether a GET of `url` succeeds within a second. Each call has its own connection: a connection that was opened before the rules of a
 * Service were in place may lead outside the cluster, and stays there.
 */
export async function isOk(url: string): Promise<boolean> {
  const asked = get(url, { agent: false, signal: AbortSignal.timeout(1_000) })
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode === 200
  } catch {
    return false
  }
}

async function finish(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 150_000 })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
  await once(child, 'close')
  return { code: child.exitCode ?? -1, stdout, stderr }
}

async function mustSucceed(command: Promise<Finished>): Promise<Finished> {
  const finished = await command
  if (finished.code !== 0) throw new Error(`the command ended with ${finished.code}: ${finished.stderr}${finished.stdout}`)
  return finished
}

/**
 * Polls until the result is not undefined. Throws with `what` after the timeout. The pause is three times as long as a poll, from 100 to 400 ms, because
 * tests that poll with `kubectl` would otherwise use most of a processor.
 */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>, timeoutMs = 60_000): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const began = performance.now()
    const answer = await ask()
    if (answer !== undefined) return answer
    const now = performance.now()
    if (now > end) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(Math.min(400, Math.max(100, 3 * (now - began))))
  }
}

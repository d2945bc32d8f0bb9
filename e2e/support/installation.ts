import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isFault, nodeTransport } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Kind } from '@windlass/kube'
import { isFinalBuild } from '@windlass/plan'
import type { Build, BuildInput, Transport } from '@windlass/protocol'
import { writeKubeconfig } from './account.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { eventually } from './eventually.ts'
import { firstAdmin } from './first-admin.ts'
import { ensureImages } from './images.ts'
import { freePort, type Service, startService } from './process.ts'
import { NODE, NODE_OPTIONS, programFile, type ProgramName, WINDLASS } from './programs.ts'
import { applyRoles } from './roles.ts'

export { eventually }

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
  /** Runs a build to its end by the API, and returns it with its log. The command line is for tests of what it shows. */
  run(request: BuildInput): Promise<{ readonly build: Build; readonly log: string }>
  /** Runs the `windlass` command as the first admin. */
  windlass(...args: string[]): Promise<Finished>
  kubectl(...args: string[]): Promise<string>
  /** Returns the names of the objects of a kind in the namespace, without a process. `labels`: a label selector. */
  names(kind: Kind, labels?: string): Promise<string[]>
  /** Creates a runtime of the agent, or replaces it. `layer`: its own fields. The runtime named like the namespace is the default one. */
  putRuntime(name: string, layer: object): Promise<void>
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
  const bare = openClient({ url, transport })
  const { token: adminToken } = await bare.server.bootstrap(await firstAdmin(join(folder, 'server')))
  const client = bare.withToken(adminToken)
  const environment = {
    ...process.env,
    WINDLASS_CONFIG: join(folder, 'config.yaml'),
    WINDLASS_URL: url,
    WINDLASS_API_KEY: adminToken,
    NO_COLOR: '1',
    ...options.userEnv,
  }
  const windlass = (...args: string[]): Promise<Finished> => finish(WINDLASS, args, environment)
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const { token } = await client.agents.create({ name: AGENT, runtimes: [] })
  const putRuntime: Installation['putRuntime'] = async (name, layer) =>
    void (await client.runtimes.put(name, { name, type: 'kubernetes', agent: AGENT, isDefault: name === namespace, spec: layer }))
  await putRuntime(namespace, layerOf(namespace, options))

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
    await cluster.clear({ kind: 'Pod', namespace }, { graceSeconds: 1 })
    await cluster.kube.delete({ kind: 'Namespace', name: namespace })
    await cluster.clear({ kind: 'PersistentVolume', labels: `pod_namespace=${namespace}` })
    for (const kind of ['ClusterRole', 'ClusterRoleBinding'] as const) await cluster.kube.delete({ kind, name: namespace })
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  return {
    cluster,
    namespace,
    url,
    server,
    agent,
    client,
    adminToken,
    addAgent,
    images,
    file,
    run: (request) => runBuild(client, request),
    windlass,
    kubectl,
    names: (kind, labels) => cluster.names({ kind, namespace, labels }),
    putRuntime,
    close,
  }
}

const AGENT = 'one-node'

async function runBuild(client: ApiClient, request: BuildInput): Promise<{ build: Build; log: string }> {
  const { id } = await client.builds.create(request)
  const isOver = async (): Promise<Build | undefined> => {
    const build = await client.builds.wait(id, { query: { timeoutMs: 20_000 }, timeoutMs: 60_000 })
    return isFinalBuild(build.status) ? build : undefined
  }
  const build = await eventually('the build ends', isOver, COMMAND_MS)
  const log = await client.builds.log(id).catch((error: unknown) => {
    // A build that ran no step has none.
    if (!isFault(error, 'not-found')) throw error
    return ''
  })
  return { build, log }
}

/** Small, so that the builds of several installations fit on one small node at the same time. */
const DAEMON_REQUESTS = { cpu: '100m', memory: '128Mi' }

/** The fields of the runtime. The storage class of disks is named after the namespace, as users have it, so installations do not share a pool. */
function layerOf(namespace: string, { engine, daemon }: InstallationOptions): object {
  const runtimeScheduler = { cluster: { namespace }, ...engine }
  const defaultDindResources = { requests: DAEMON_REQUESTS }
  const dockerDaemonScheduler = {
    defaultDindResources,
    ...daemon,
    pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${namespace}` } },
  }
  return { runtimeScheduler, dockerDaemonScheduler }
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
  const rights = [
    { verb: 'create', group: '', resource: 'pods', namespace },
    { verb: 'list', group: '', resource: 'persistentvolumes' },
  ]
  return writeKubeconfig(cluster, { namespace, name: 'windlass-agent', rights }, join(folder, 'agent.kubeconfig'))
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
      args: [...NODE_OPTIONS, programFile(name)],
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
 * Returns whether a GET of `url` succeeds in time. Each call has its own connection: a connection that was opened before the rules of a
 * Service were in place may lead outside the cluster, and stays there.
 */
export async function isOk(url: string, timeoutMs = 1_000): Promise<boolean> {
  const asked = get(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) })
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode === 200
  } catch {
    return false
  }
}

/** Shorter than the limit of a test, so that the output of a command that hangs is shown. Milliseconds. */
const COMMAND_MS = 540_000

async function finish(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_MS })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString('utf8')))
  await once(child, 'close')
  return { code: child.exitCode ?? -1, stdout, stderr }
}

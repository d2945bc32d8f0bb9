import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeTransport } from '@windlass/kit'
import { createClient, type Client, type Transport } from '@windlass/protocol'
import { type Cluster, startCluster } from './cluster.ts'
import { ensureImages } from './images.ts'
import { freePort, type Service, startService } from './process.ts'

const root = join(import.meta.dirname, '../..')

/** What a command printed, and its exit code. */
export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A process of ours that a test may kill and start again. */
export interface Restartable {
  /** SIGKILL, as a power cut would. */
  kill9(): Promise<void>
  /** Sends a signal and does not wait for what comes of it. */
  signal(name: NodeJS.Signals): void
  /** Resolves with the exit code when it has ended; null when a signal ended it. */
  ended(): Promise<number | null>
  /** Of the process that runs now. */
  pid(): number
  /** Starts it again, on the same data and port. */
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
  readonly client: Client
  readonly adminToken: string
  /** One more agent process with the same identity. */
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

/** Settings beside those that every installation has. */
export interface InstallationOptions {
  readonly serverEnv?: Readonly<Record<string, string>>
  readonly agentEnv?: Readonly<Record<string, string>>
  /** Of the command line. */
  readonly userEnv?: Readonly<Record<string, string>>
  /** Where everybody finds the server, when that is not an address of the node; `transport` is the way of the tests to it. */
  readonly edge?: { readonly url: string; readonly port: number; readonly transport: Transport }
  /** Fields of the engine's and the daemon's part of the runtime. */
  readonly engine?: object
  readonly daemon?: object
}

/**
 * Installs what `docs` tell a user to: namespace, roles, service accounts, agent. The agent has the rights of
 * `packages/agent/rbac/role.yaml` and no others. Pods reach the server at the node's address.
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
  const server = await restartable('packages/server/src/main.ts', answers, {
    WINDLASS_SERVER_DATA_DIR: join(folder, 'server'),
    WINDLASS_SERVER_PORT: String(port),
    WINDLASS_SERVER_ADVERTISED_URL: url,
    ...options.serverEnv,
  })
  const environment = { ...process.env, WINDLASS_CONFIG: join(folder, 'config.yaml'), NO_COLOR: '1', ...options.userEnv }
  const windlass = (...args: string[]): Promise<Finished> => finish(join(root, 'windlass'), args, environment)
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  await mustSucceed(windlass('auth', 'login', '--url', url, '--first-admin'))
  const token = (await mustSucceed(windlass('create', 'agent', 'one-node'))).stdout.trim()
  await mustSucceed(windlass('apply', '-f', await file('runtime.yml', JSON.stringify(runtimeOf(namespace, options)))))

  const tokenFile = await file('agent.token', token)
  const agents: Restartable[] = []
  const addAgent = async (): Promise<Restartable> => {
    const health = await freePort()
    const agent = await restartable('packages/agent/src/main.ts', `http://127.0.0.1:${health}/readyz`, {
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
    // Pods hold their disks, and go in a second; the namespace itself takes long to empty, and nobody waits for it.
    await kubectl('delete', 'pods', '--all', '--grace-period=1', '--timeout=60s')
    await cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
    await cluster.kubectl('delete', 'persistentvolumes', '--selector', `pod_namespace=${namespace}`, '--timeout=60s')
    await cluster.kubectl('delete', 'clusterrolebinding', namespace, '--ignore-not-found')
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  const adminToken = await readAdminToken(folder)
  const client = createClient({ url, transport, token: adminToken })
  return { cluster, namespace, url, server, agent, client, adminToken, addAgent, images, file, windlass, kubectl, close }
}

/** The token that the command line wrote down when it logged in. */
async function readAdminToken(folder: string): Promise<string> {
  const config = await readFile(join(folder, 'config.yaml'), 'utf8')
  return /apiKey: "?([^\s"]+)/.exec(config)?.[1] ?? ''
}

/** The class of disks is named after the namespace, as users have it: installations do not share a pool. */
function runtimeOf(namespace: string, { engine, daemon }: InstallationOptions): object {
  const runtimeScheduler = { cluster: { namespace }, ...engine }
  const dockerDaemonScheduler = { ...daemon, pvcs: { dind: { storageClassName: `dind-local-volumes-runner-${namespace}` } } }
  const spec = { type: 'kubernetes', agent: 'one-node', isDefault: true, runtimeScheduler, dockerDaemonScheduler }
  return { kind: 'runtime', metadata: { name: namespace }, spec }
}

/** Namespace, roles and accounts; returns the path of a kubeconfig that has the agent's rights only. */
async function installRoles(cluster: Cluster, { namespace, folder }: { namespace: string; folder: string }): Promise<string> {
  const account = (name: string): object => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } })
  const subjects = [{ kind: 'ServiceAccount', name: 'windlass-agent', namespace }]
  const binding = (kind: string, roleKind: string, metadata: object): object => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: roleKind, name: 'windlass-agent' },
    subjects,
  })
  await cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await cluster.kubectl('--namespace', namespace, 'apply', '--filename', join(root, 'packages/agent/rbac/role.yaml'))
  await cluster.apply(
    account('windlass-agent'),
    account('windlass-engine'),
    binding('RoleBinding', 'Role', { name: 'windlass-agent', namespace }),
    binding('ClusterRoleBinding', 'ClusterRole', { name: namespace }),
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

/** A process of ours, `main` from the root of the project, that is ready when a URL answers, or when `ready` says so. */
export async function restartable(
  main: string,
  ready: string | (() => Promise<boolean>),
  env: Record<string, string>,
): Promise<Restartable> {
  const launch = (): Promise<Service> =>
    startService({
      command: join(root, 'node_modules/node/bin/node'),
      args: [join(root, main)],
      env,
      ready: typeof ready === 'string' ? () => isOk(ready) : ready,
    })
  let service = await launch()
  return {
    kill9: () => service.stop('SIGKILL'),
    signal: (name) => service.signal(name),
    ended: () => service.ended(),
    pid: () => service.pid,
    start: async () => {
      service = await launch()
    },
    log: () => service.log(),
  }
}

async function isOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined)
  return response?.ok === true
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

/** Asks every 100 ms until the answer is not undefined; throws with `what` after the time. */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>, timeoutMs = 60_000): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(100)
  }
}

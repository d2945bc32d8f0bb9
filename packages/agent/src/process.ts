/** Assembles an agent and its clusters from the settings of the process. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { fault, nodeTransport, systemClock, type Logger } from '@windlass/kit'
import {
  inCluster,
  openKube,
  openLeadership,
  readKubeconfig,
  withoutElection,
  type ClusterAccess,
  type Kube,
  type Leadership,
} from '@windlass/kube'
import { agentCalls } from '@windlass/client/agent'
import { createClient, labelValue, VERSION, type Transport } from '@windlass/protocol'
import { startAgent, type Agent } from './agent.ts'
import { chooseProtocol } from './choose-protocol.ts'
import type { AgentConfig } from './config.ts'
import { kubernetesExecutor } from './kubernetes/executor.ts'
import { clustersExecutor } from './kubernetes/clusters-executor.ts'
import { serveReportRelay, type ReportRelay } from './gitlab-reports/relay.ts'
import { policyOf } from './kubernetes/policy/settings.ts'
import { openProtocolMemory, type ProtocolMemory } from './protocol-memory.ts'
import { fixedCluster, openClusters, type Cluster, type Clusters } from './runtimes/clusters.ts'
import { folderTokenStore, secretTokenStore, type TokenStore } from './runtimes/token-store.ts'
import { readRuntimeFiles, type RuntimeEntry, type RuntimeFiles } from './runtimes/runtime-files.ts'
import type { StartRate } from './starts/choose-starts.ts'
import type { V1Agent } from './v1/agent.ts'
import { openPlatform, type Platform } from './v1/platform.ts'
import type { WorkflowStarts } from './v1/workflow-starts.ts'

export interface AgentParts {
  readonly config: Readonly<AgentConfig>
  readonly clusters: Clusters
  /** The cluster that this process runs in, if any. */
  readonly here: ClusterAccess | undefined
  readonly transport: Transport
  /** Passes on the reports of a manager of GitLab runners in the same pod, if there is one. */
  readonly relay?: ReportRelay | undefined
  readonly log: Logger
}

/** Finds the clusters. Throws `config-invalid` if there is no cluster to serve. */
export async function openParts(
  config: Readonly<AgentConfig>,
  env: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<AgentParts> {
  if (config.TLS_INSECURE) log.warn('TLS certificates of the server and the clusters are not verified')
  const { KUBECONFIG, RUNTIME, CONFIG_DIR, TLS_INSECURE: insecure } = config
  const found = KUBECONFIG === undefined ? inCluster(env) : await readKubeconfig(KUBECONFIG)
  const here = found === undefined ? undefined : { ...found, insecure: insecure || found.insecure }
  const open = (entry: RuntimeEntry): Kube =>
    openKube({ access: entry.access, log, qps: entry.qps ?? config.QPS, burst: entry.burst ?? config.BURST })
  const transport = nodeTransport({ caFile: config.CA, insecure })
  const parts = { config, here, transport, log }
  if (RUNTIME === undefined && (CONFIG_DIR !== undefined || config.OWN_RUNTIMES !== undefined)) {
    const read = (): RuntimeFiles => readRuntimes(config, here)
    return { ...parts, clusters: openClusters({ dir: CONFIG_DIR, read, openKube: open, clock: systemClock, log }) }
  }
  if (CONFIG_DIR !== undefined) log.warn({ runtime: RUNTIME, dir: CONFIG_DIR }, 'CONFIG_DIR is ignored because RUNTIME is set')
  if (here === undefined)
    throw fault('config-invalid', {
      message:
        'No cluster to serve: the agent does not run in a pod, and neither WINDLASS_AGENT_KUBECONFIG nor WINDLASS_AGENT_CONFIG_DIR is set.',
      hint: 'Set one of them, or run the agent in a pod of the cluster.',
    })
  const entry = { name: RUNTIME ?? '', access: here, namespaces: undefined }
  return { ...parts, clusters: fixedCluster({ entry, kube: open(entry) }, RUNTIME) }
}

/**
 * Returns the runtimes of the agent's own cluster, then those of the files. A file may describe a runtime of the own cluster, as that of an
 * attached runtime does, but it is a problem if that file names another cluster.
 */
function readRuntimes(config: Readonly<AgentConfig>, here: ClusterAccess | undefined): RuntimeFiles {
  const { OWN_RUNTIMES: names = [], CONFIG_DIR: dir, TLS_INSECURE: insecure } = config
  if (names.length > 0 && here === undefined)
    throw fault('config-invalid', {
      message: 'WINDLASS_AGENT_OWN_RUNTIMES is set, but the agent does not run in a pod.',
      hint: 'Run the agent in a pod of the cluster of these runtimes, or remove the setting.',
    })
  const own = here === undefined ? [] : names.map((name) => ({ name, access: here, namespaces: undefined }))
  const files = dir === undefined ? { runtimes: [], problems: [] } : readRuntimeFiles(dir, { insecure, here })
  const isOwn = ({ name }: RuntimeEntry): boolean => names.includes(name)
  const message = 'it names another cluster for a runtime of the cluster that the agent runs in'
  const conflicting = files.runtimes.filter((entry) => isOwn(entry) && entry.access !== here)
  const conflicts = conflicting.map(({ name }) => ({ file: name, message }))
  return {
    runtimes: [...own, ...files.runtimes.filter((entry) => !isOwn(entry))],
    problems: [...files.problems, ...conflicts],
  }
}

/** Serves the relay for a manager of GitLab runners, with the token of the agent; undefined without its port. Rejects if the port is in use. */
export async function openRelay({ config, transport, log }: AgentParts): Promise<ReportRelay | undefined> {
  const { GITLAB_REPORTS_PORT: port, SERVER_URL: url, TOKEN: token } = config
  if (port === undefined) return undefined
  return serveReportRelay({ server: agentCalls(createClient({ url, token, transport })), port, clock: systemClock, log })
}

/** Starts the agent that speaks the protocol of the server. */
export async function startByProtocol(parts: AgentParts, signal: AbortSignal): Promise<Agent | V1Agent> {
  const { config, transport, relay, log } = parts
  const client = createClient({ url: config.SERVER_URL, token: config.TOKEN, transport })
  const platform =
    config.ID === undefined
      ? undefined
      : openPlatform({
          url: config.SERVER_URL,
          agentId: config.ID,
          token: config.TOKEN,
          transport,
          version: VERSION,
          chartVersion: config.CHART_VERSION,
        })
  const memory = memoryOf(parts)
  const protocol =
    config.PROTOCOL === 'auto'
      ? await chooseProtocol({ client, platform, memory, clock: systemClock, log }, signal)
      : config.PROTOCOL
  log.info(
    { server: config.SERVER_URL, protocol, runtimes: parts.clusters.all().map(({ entry }) => entry.name) },
    'agent started',
  )
  if (protocol === 'v1') return startV1(parts, platform)
  const known = config.RUNTIME !== undefined || config.CONFIG_DIR !== undefined || config.OWN_RUNTIMES !== undefined
  const agent = startAgent({
    client,
    executor: executorFor(parts, known),
    clock: systemClock,
    log,
    version: VERSION,
    engineServerUrl: config.ENGINE_SERVER_URL,
    maxTasks: config.MAX_TASKS,
    sweepMs: config.SWEEP_MS,
    reach: (url, signal) => reachServer(transport, url, signal),
    caFile: config.CA,
    ...(relay && { findings: () => [relay.finding()] }),
    ...(known && { runtimes: () => parts.clusters.all().map(({ entry }) => entry.name) }),
  })
  agent.ready.then(
    () => memory.noteV2(),
    () => undefined,
  )
  return agent
}

/** Calls the probe of a server. Throws if it does not answer as one. */
async function reachServer(transport: Transport, url: string, signal: AbortSignal): Promise<void> {
  const answer = await transport({ url: `${url}/healthz`, method: 'GET', headers: {}, signal })
  await answer.text()
  if (answer.status !== 200) throw fault('server-unreachable', { message: `It answered with status ${answer.status}.` })
}

/** Returns where the renewed tokens of runtime files are stored; undefined without such files. */
export function tokenStoreOf({ config, here, log }: AgentParts): TokenStore | undefined {
  const { CONFIG_DIR, RUNTIMES_SECRET: name } = config
  if (CONFIG_DIR === undefined) return undefined
  if (here === undefined || !isPod(config)) return folderTokenStore(CONFIG_DIR)
  return secretTokenStore({ kube: openKube({ access: here, log }), namespace: here.namespace, name })
}

/** Whether the process runs in a pod of the cluster, if it has access to one. */
function isPod({ KUBECONFIG, LEASE }: Readonly<AgentConfig>): boolean {
  return KUBECONFIG === undefined || LEASE === 'on'
}

/** Opens the memory of the protocol: the state folder, and in a pod also the cluster. */
function memoryOf({ config, here, log }: AgentParts): ProtocolMemory {
  const cluster =
    here !== undefined && isPod(config) ? { kube: openKube({ access: here, log }), namespace: here.namespace } : undefined
  return openProtocolMemory({ serverUrl: config.SERVER_URL, stateDir: config.STATE_DIR, cluster, clock: systemClock, log })
}

function executorFor({ config, clusters }: AgentParts, known: boolean): ReturnType<typeof kubernetesExecutor> {
  const executorOf = ({ entry, kube }: Cluster): ReturnType<typeof kubernetesExecutor> =>
    kubernetesExecutor({
      kube,
      policy: policyOf({ ...config, ...entry.policy }, namespacesOf(config, entry)),
      runtime: known ? entry.name : undefined,
      volumeParentDir: config.VOLUME_DIR === '' ? undefined : config.VOLUME_DIR,
      starts: startRate(config),
    })
  const [only] = clusters.all()
  return known || only === undefined ? clustersExecutor({ clusters, executorOf }) : executorOf(only)
}

function startRate({ STARTS_PER_CORE: perCore, MAX_STARTS: max }: Readonly<AgentConfig>): StartRate {
  return { perCore, max }
}

function namespacesOf(config: Readonly<AgentConfig>, { namespaces, access }: RuntimeEntry): readonly string[] {
  return namespaces ?? config.NAMESPACES ?? [access.namespace]
}

async function startV1(parts: AgentParts, platform: Platform | undefined): Promise<V1Agent> {
  const { config, clusters, transport, log } = parts
  if (platform === undefined)
    throw fault('config-invalid', {
      message: 'Protocol v1 needs the id of the agent, and WINDLASS_AGENT_ID (or AGENT_ID) is not set.',
      hint: 'Set it; on a Windlass server, `windlass get agents -o json` shows it.',
    })
  // Loaded on demand: its metrics and its ledger take 5 MB of memory, which an agent of v2 does not need.
  const { startV1Agent, openWorkflowStarts } = await import('./v1/index.ts')
  const starts = new Map<string, WorkflowStarts>()
  clusters.each(({ entry, kube }) => {
    const namespaces = namespacesOf(config, entry)
    const opened = openWorkflowStarts({ kube, namespaces, rate: startRate(config), clock: systemClock, log })
    starts.set(entry.name, opened)
    return () => {
      if (starts.get(entry.name) === opened) starts.delete(entry.name)
      opened.close()
    }
  })
  return startV1Agent({
    platform,
    clusterOf(runtime) {
      const cluster = clusters.find(runtime)
      const ofCluster = cluster && starts.get(cluster.entry.name)
      if (cluster === undefined || ofCluster === undefined) return undefined
      const { kube, entry } = cluster
      return { kube, policy: policyOf({ ...config, ...entry.policy }, namespacesOf(config, entry)), starts: ofCluster }
    },
    stateDir: config.STATE_DIR,
    transport,
    leadership: leadershipOf(parts),
    clock: systemClock,
    log,
    pollMs: config.POLL_SECONDS * 1000,
    heartbeatMs: config.HEARTBEAT_SECONDS * 1000,
    concurrency: config.WORKFLOWS,
    buffer: config.BUFFER,
    forceDeletePvc: config.FORCE_DELETE_PVC,
    appProxies: config.APP_PROXIES,
  })
}

/** Returns how this process gets the right to poll. Replicas share one Lease, named after their id, in their own namespace. */
function leadershipOf({ config, here, log }: AgentParts): Leadership {
  const wanted = config.LEASE === 'on' || (config.LEASE === 'auto' && config.KUBECONFIG === undefined)
  if (!wanted || here === undefined) return withoutElection()
  const kube = openKube({ access: here, log })
  const holder = `${hostname()}_${randomBytes(4).toString('hex')}`
  const name = `windlass-agent-${labelValue(config.ID ?? '')
    .toLowerCase()
    .replaceAll('_', '-')}`.slice(0, 200)
  return openLeadership({ kube, namespace: here.namespace, name, holder, clock: systemClock, log })
}

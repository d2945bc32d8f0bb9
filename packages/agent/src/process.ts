/** An agent with its clusters, as the settings of the process want it. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { fault, nodeTransport, systemClock, type Logger } from '@windlass/kit'
import { inCluster, openKube, readKubeconfig, type ClusterAccess, type Kube } from '@windlass/kube'
import { createClient, labelValue, type Transport } from '@windlass/protocol'
import { startAgent, type Agent } from './agent.ts'
import { chooseProtocol } from './choose-protocol.ts'
import type { AgentConfig } from './config.ts'
import { kubernetesExecutor } from './kubernetes/executor.ts'
import { clustersExecutor } from './kubernetes/many.ts'
import type { AgentPolicy } from './kubernetes/policy.ts'
import { fixedCluster, openClusters, type Cluster, type Clusters } from './runtimes/clusters.ts'
import { readRuntimeFiles, type RuntimeEntry, type RuntimeFiles } from './runtimes/runtime-files.ts'
import type { V1Agent } from './v1/agent.ts'
import { aloneLeadership, openLeadership, type Leadership } from './v1/leadership.ts'
import { openPlatform, type Platform } from './v1/platform.ts'

export const VERSION = '0.1.0'

export interface AgentParts {
  readonly config: Readonly<AgentConfig>
  readonly clusters: Clusters
  /** The cluster this process runs in, if any. */
  readonly here: ClusterAccess | undefined
  readonly transport: Transport
  readonly log: Logger
}

/** Finds the clusters. Throws `config-invalid` when there is none to serve. */
export async function openParts(
  config: Readonly<AgentConfig>,
  env: Readonly<Record<string, string | undefined>>,
  log: Logger,
): Promise<AgentParts> {
  if (config.TLS_INSECURE) log.warn('TLS is not verified: neither the server nor the clusters prove who they are')
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
  if (CONFIG_DIR !== undefined) log.warn({ runtime: RUNTIME, dir: CONFIG_DIR }, 'only the runtime of this cluster is served')
  if (here === undefined)
    throw fault('config-invalid', {
      message:
        'There is no cluster to serve: this is not a pod, and neither WINDLASS_AGENT_KUBECONFIG nor WINDLASS_AGENT_CONFIG_DIR is set.',
    })
  const entry = { name: RUNTIME ?? '', access: here, namespaces: undefined }
  return { ...parts, clusters: fixedCluster({ entry, kube: open(entry) }, RUNTIME) }
}

/** The runtimes of the agent's own cluster, then those of files; a file for one of the former is a problem. */
function readRuntimes(config: Readonly<AgentConfig>, here: ClusterAccess | undefined): RuntimeFiles {
  const { OWN_RUNTIMES: names = [], CONFIG_DIR: dir, TLS_INSECURE: insecure } = config
  if (names.length > 0 && here === undefined)
    throw fault('config-invalid', { message: 'WINDLASS_AGENT_OWN_RUNTIMES is set, but this is not a pod of a cluster.' })
  const own = here === undefined ? [] : names.map((name) => ({ name, access: here, namespaces: undefined }))
  const files = dir === undefined ? { runtimes: [], problems: [] } : readRuntimeFiles(dir, { insecure, here })
  const isOwn = ({ name }: RuntimeEntry): boolean => names.includes(name)
  const message = 'the cluster of the agent serves this runtime itself'
  const doubled = files.runtimes.filter(isOwn).map(({ name }) => ({ file: name, message }))
  return {
    runtimes: [...own, ...files.runtimes.filter((entry) => !isOwn(entry))],
    problems: [...files.problems, ...doubled],
  }
}

/** Starts the agent for the protocol of the server. */
export async function startByProtocol(parts: AgentParts, signal: AbortSignal): Promise<Agent | V1Agent> {
  const { config, transport, log } = parts
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
  const protocol =
    config.PROTOCOL === 'auto' ? await chooseProtocol({ client, platform, clock: systemClock, log }, signal) : config.PROTOCOL
  log.info(
    { server: config.SERVER_URL, protocol, runtimes: parts.clusters.all().map(({ entry }) => entry.name) },
    'agent started',
  )
  if (protocol === 'v1') return startV1(parts, platform)
  const known = config.RUNTIME !== undefined || config.CONFIG_DIR !== undefined || config.OWN_RUNTIMES !== undefined
  return startAgent({
    client,
    executor: executorFor(parts, known),
    clock: systemClock,
    log,
    version: VERSION,
    maxTasks: config.MAX_TASKS,
    sweepMs: config.SWEEP_MS,
    ...(known && { runtimes: () => parts.clusters.all().map(({ entry }) => entry.name) }),
  })
}

function executorFor({ config, clusters }: AgentParts, known: boolean): ReturnType<typeof kubernetesExecutor> {
  const executorOf = ({ entry, kube }: Cluster): ReturnType<typeof kubernetesExecutor> =>
    kubernetesExecutor({
      kube,
      policy: policyOf(config, namespacesOf(config, entry)),
      runtime: known ? entry.name : undefined,
      volumeParentDir: config.VOLUME_DIR === '' ? undefined : config.VOLUME_DIR,
    })
  const [only] = clusters.all()
  return known || only === undefined ? clustersExecutor({ clusters, executorOf }) : executorOf(only)
}

function namespacesOf(config: Readonly<AgentConfig>, { namespaces, access }: RuntimeEntry): readonly string[] {
  return namespaces ?? config.NAMESPACES ?? [access.namespace]
}

function policyOf(config: Readonly<AgentConfig>, namespaces: readonly string[]): AgentPolicy {
  return {
    namespaces,
    serviceAccounts: config.SERVICE_ACCOUNTS,
    privilegedImages: config.PRIVILEGED_IMAGES,
    secrets: config.ALLOWED_SECRETS,
    claims: config.ALLOWED_CLAIMS,
    hostPaths: config.ALLOWED_HOST_PATHS,
    volumeTypes: config.ALLOWED_VOLUMES,
    isPermissive: config.POLICY === 'permissive',
  }
}

async function startV1(parts: AgentParts, platform: Platform | undefined): Promise<V1Agent> {
  const { config, clusters, transport, log } = parts
  if (platform === undefined)
    throw fault('config-invalid', { message: 'Protocol v1 needs the name of the agent: set WINDLASS_AGENT_ID (or AGENT_ID).' })
  // Loaded here only: its metrics and its ledger cost 5 MB, which an agent of v2 never needs.
  const { startV1Agent } = await import('./v1/agent.ts')
  return startV1Agent({
    platform,
    clusterOf(runtime) {
      const cluster = clusters.find(runtime)
      if (cluster === undefined) return undefined
      const { kube, entry } = cluster
      // A platform that knows v1 only makes pods that no policy of ours was made for: it counts when it was asked for.
      if (config.POLICY === undefined) return { kube, namespaces: entry.namespaces ?? config.NAMESPACES }
      const namespaces = namespacesOf(config, entry)
      return { kube, namespaces, policy: policyOf(config, namespaces) }
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
  })
}

/** Replicas share the Lease of their identity, in the namespace they run in. */
function leadershipOf({ config, here, log }: AgentParts): Leadership {
  const wanted = config.LEASE === 'on' || (config.LEASE === 'auto' && config.KUBECONFIG === undefined)
  if (!wanted || here === undefined) return aloneLeadership()
  const kube = openKube({ access: here, log })
  const holder = `${hostname()}_${randomBytes(4).toString('hex')}`
  const name = `windlass-agent-${labelValue(config.ID ?? '')
    .toLowerCase()
    .replaceAll('_', '-')}`.slice(0, 200)
  return openLeadership({ kube, namespace: here.namespace, name, holder, clock: systemClock, log })
}

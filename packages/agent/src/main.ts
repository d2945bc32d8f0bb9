/** The agent process in a cluster. Exit codes: 0 stopped; 3 another process took over its identity; 4 the server refuses it; 1 anything else. */
import { fault, isFault, nodeTransport, openLog, stopSignal, systemClock, type Logger } from '@windlass/kit'
import { inCluster, openKube, readKubeconfig, type ClusterAccess } from '@windlass/kube'
import { createClient } from '@windlass/protocol'
import { isFatal, startAgent } from './agent.ts'
import { agentConfig, environment, type AgentConfig } from './config.ts'
import { serveHealth } from './health.ts'
import { kubernetesExecutor } from './kubernetes/executor.ts'

const EXIT = { stopped: 0, failed: 1, fenced: 3, refused: 4 } as const

async function clusterAccess(config: AgentConfig): Promise<ClusterAccess> {
  const access = config.KUBECONFIG === undefined ? inCluster(environment()) : await readKubeconfig(config.KUBECONFIG)
  if (access !== undefined) return access
  throw fault('config-invalid', { message: 'This is not a pod of a cluster, and WINDLASS_AGENT_KUBECONFIG names no kubeconfig.' })
}

async function run(config: AgentConfig, log: Logger): Promise<number> {
  const signal = stopSignal()
  const access = await clusterAccess(config)
  const kube = openKube({ access, log, qps: config.QPS, burst: config.BURST })
  const policy = {
    namespaces: config.NAMESPACES ?? [access.namespace],
    serviceAccounts: config.SERVICE_ACCOUNTS,
    privilegedImages: config.PRIVILEGED_IMAGES,
    secrets: config.ALLOWED_SECRETS,
    claims: config.ALLOWED_CLAIMS,
    hostPaths: config.ALLOWED_HOST_PATHS,
    volumeTypes: config.ALLOWED_VOLUMES,
    isPermissive: config.POLICY === 'permissive',
  }
  const transport = nodeTransport({ caFile: config.CA })
  const agent = startAgent({
    client: createClient({ url: config.SERVER_URL, token: config.TOKEN, transport }),
    executor: kubernetesExecutor({ kube, policy, volumeParentDir: config.VOLUME_DIR }),
    clock: systemClock,
    log,
    maxTasks: config.MAX_TASKS,
    sweepMs: config.SWEEP_MS,
  })
  const health = config.PORT === undefined ? undefined : await serveHealth({ agent, clock: systemClock, port: config.PORT })
  signal.addEventListener('abort', () => void agent.close(), { once: true })
  log.info({ server: config.SERVER_URL, cluster: access.server, namespaces: policy.namespaces }, 'agent started')
  try {
    await agent.ended
    return EXIT.stopped
  } catch (error) {
    if (isFault(error, 'agent-fenced')) return EXIT.fenced
    if (isFatal(error)) return EXIT.refused
    throw error
  } finally {
    await health?.close()
    kube.close()
  }
}

const log = openLog({ level: 'info', name: 'agent' })
try {
  const config = agentConfig()
  process.exitCode = await run(config, openLog({ level: config.LOG_LEVEL, name: 'agent' }))
} catch (error) {
  log.fatal({ err: error }, 'agent failed')
  process.exitCode = EXIT.failed
}

/** Settings of the agent process, from `WINDLASS_AGENT_*`. Each may come from a file named by `…_FILE`. */
import { Fault, fault, readConfig, splitList } from '@windlass/kit'
import { LogLevel, Port, ProbePort } from '@windlass/kit/settings'
import { z } from 'zod'
import { PolicySettings } from './kubernetes/policy/settings.ts'
import { withCodefreshSettings } from './codefresh-settings.ts'

const list = z.string().transform(splitList)

export const AgentConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  ENGINE_SERVER_URL: z.url().optional().describe('Base URL by which engines reach the server, if it is not SERVER_URL.'),
  TOKEN: z.string().min(1).describe('Token of this agent. Prefer a mounted file: WINDLASS_AGENT_TOKEN_FILE.'),
  CA: z
    .string()
    .optional()
    .describe('PEM file with additional certificate authorities for the server, and for checks of contexts.'),
  TLS_INSECURE: z
    .stringbool()
    .default(false)
    .describe(
      '`true` turns off verification of the TLS certificates of server and clusters, with a warning in the log. Prefer WINDLASS_AGENT_CA.',
    ),
  PROTOCOL: z
    .enum(['auto', 'v2', 'v1'])
    .default('auto')
    .describe(
      'Protocol of the server; `auto` uses v2 if the server supports it, and never goes back to v1 for a server that has spoken v2.',
    ),
  ID: z.string().min(1).optional().describe('Name or id of this agent; required by protocol v1.'),
  RUNTIME: z
    .string()
    .min(1)
    .optional()
    .describe('The only runtime to serve, in the cluster of the agent; CONFIG_DIR is ignored if it is set.'),
  OWN_RUNTIMES: list
    .optional()
    .describe('Runtimes in the cluster of the agent, in addition to those of CONFIG_DIR, which may be empty.'),
  CONFIG_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of `*.runtime.yaml` files, one per runtime; changes are picked up while the agent runs.'),
  RUNTIMES_SECRET: z
    .string()
    .min(1)
    .default('runnerconf')
    .describe(
      'Secret in the namespace of the agent that is mounted as CONFIG_DIR. The agent writes renewed tokens of runtimes to it. Outside of a pod, it writes them to the files.',
    ),
  STATE_DIR: z
    .string()
    .min(1)
    .default('/var/lib/windlass/agent')
    .describe('Folder for state that must survive a restart: the ledger of protocol v1, and whether the server speaks v2.'),
  POLL_SECONDS: z.coerce.number().positive().default(3).describe('Interval between polls of protocol v1, seconds.'),
  HEARTBEAT_SECONDS: z.coerce.number().positive().default(10).describe('Interval between heartbeats of protocol v1, seconds.'),
  WORKFLOWS: z.coerce
    .number()
    .int()
    .positive()
    .default(50)
    .describe('Maximum number of builds that protocol v1 processes at once.'),
  BUFFER: z.coerce
    .number()
    .int()
    .positive()
    .default(1000)
    .describe('Maximum number of batches of tasks that protocol v1 queues.'),
  FORCE_DELETE_PVC: z
    .stringbool()
    .default(false)
    .describe('Protocol v1: remove the finalizers of deleted PersistentVolumeClaims.'),
  LEASE: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe('Protocol v1: elect the one replica that polls with a Lease; `auto` does so if the agent runs in a cluster.'),
  CHART_VERSION: z.string().optional().describe('Version of the chart that installed the agent; sent to the server.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  NAMESPACES: list.optional().describe('Namespaces that builds may use. Default: that of the kubeconfig or the pod.'),
  ...PolicySettings,
  APP_PROXIES: list
    .prefault('')
    .describe('Protocol v1: hosts, or `host:port`, to which the agent forwards requests for app-proxies; none if empty.'),
  VOLUME_DIR: z
    .string()
    .optional()
    .describe('Folder on the nodes in which the agent creates disks itself. Default: the storage class provides disks.'),
  QPS: z.coerce.number().positive().default(200).describe('Maximum number of calls to the Kubernetes API per second.'),
  BURST: z.coerce.number().int().positive().default(400).describe('Maximum burst of calls to the Kubernetes API.'),
  STARTS_PER_CORE: z.coerce
    .number()
    .positive()
    .default(2)
    .describe(
      'Maximum number of builds and warm pairs that start at once, per core of the nodes. `starts` of a runtime overrides it.',
    ),
  MAX_STARTS: z.coerce
    .number()
    .int()
    .positive()
    .optional()
    .describe('Maximum number of builds and warm pairs that start at once; the others wait with the reason `start-limit`.'),
  MAX_TASKS: z.coerce.number().int().positive().default(200).describe('Maximum number of tasks per claim.'),
  SWEEP_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(60_000)
    .describe('Interval between comparisons of leftovers with the records of the server, milliseconds.'),
  PORT: ProbePort,
  GITLAB_REPORTS_PORT: Port.optional().describe(
    'Port on the loopback interface at which a manager of GitLab runners in the same pod reports its jobs, which the agent passes on to the server; not served if absent.',
  ),
  LOG_LEVEL: LogLevel,
})
export type AgentConfig = z.infer<typeof AgentConfig>

const PREFIX = 'WINDLASS_AGENT_'

/** Reads the settings, with those of the public agent as fallback. Throws `config-invalid` that names every wrong key as it was given. */
export function agentConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  args: readonly string[] = [],
): Readonly<AgentConfig> {
  const codefresh = withCodefreshSettings(env, args, PREFIX)
  try {
    return readConfig(AgentConfig, codefresh.env, PREFIX)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const message = [...codefresh.names].reduce((text, [ours, given]) => text.replaceAll(`${ours}:`, `${given}:`), error.message)
    throw fault('config-invalid', { ...error.details, message }, error)
  }
}

/** The environment of the process. In a pod, access to the cluster needs the address of the API server from it. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

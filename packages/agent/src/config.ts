/** Settings of the agent process, from `WINDLASS_AGENT_*`. Each may come from a file named by `…_FILE`. */
import { Fault, fault, readConfig } from '@windlass/kit'
import { z } from 'zod'
import { withVendorSettings } from './vendor-settings.ts'

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

export const AgentConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  TOKEN: z.string().min(1).describe('Token of this agent; better from a mounted file: WINDLASS_AGENT_TOKEN_FILE.'),
  CA: z.string().optional().describe('PEM file of further certificate authorities of the server.'),
  TLS_INSECURE: z
    .stringbool()
    .default(false)
    .describe('`true`: server and clusters need not prove who they are; said in the log. Better: WINDLASS_AGENT_CA.'),
  PROTOCOL: z
    .enum(['auto', 'v2', 'v1'])
    .default('auto')
    .describe('Protocol of the server; `auto` takes v2 where the server knows it.'),
  ID: z.string().min(1).optional().describe('Name or id of this agent; needed with protocol v1 only.'),
  RUNTIME: z
    .string()
    .min(1)
    .optional()
    .describe('The one runtime that is served, in the cluster of the agent; CONFIG_DIR is not read then.'),
  OWN_RUNTIMES: list
    .optional()
    .describe('Runtimes that the cluster of the agent serves beside those of CONFIG_DIR; needs no files to be there.'),
  CONFIG_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of `*.runtime.yaml` files, one for each runtime; read again while the agent runs.'),
  STATE_DIR: z
    .string()
    .min(1)
    .default('/var/lib/windlass/agent')
    .describe('Folder for what must survive a restart of the process; used by protocol v1 only.'),
  POLL_SECONDS: z.coerce.number().positive().default(3).describe('Time between polls of protocol v1.'),
  HEARTBEAT_SECONDS: z.coerce.number().positive().default(10).describe('Time between signs of life of protocol v1.'),
  WORKFLOWS: z.coerce.number().int().positive().default(50).describe('Builds that are worked at at once by protocol v1.'),
  BUFFER: z.coerce.number().int().positive().default(1000).describe('Batches of tasks that protocol v1 pulls ahead.'),
  FORCE_DELETE_PVC: z.stringbool().default(false).describe('Protocol v1: take the finalizers off claims that are deleted.'),
  LEASE: z
    .enum(['auto', 'on', 'off'])
    .default('auto')
    .describe('Protocol v1: one of several replicas polls, by a Lease; `auto`: when the agent runs in a cluster.'),
  CHART_VERSION: z.string().optional().describe('Version of the chart that installed the agent; told to the server.'),
  KUBECONFIG: z.string().optional().describe("Path of a kubeconfig; the pod's own service account when absent."),
  NAMESPACES: list.optional().describe('Namespaces that builds may use; that of the kubeconfig or the pod when absent.'),
  SERVICE_ACCOUNTS: list.prefault('windlass-engine').describe('Service accounts that pods of builds may run as.'),
  PRIVILEGED_IMAGES: list
    .prefault('')
    .describe('Prefixes of images that may run privileged; any image of the dind pod when empty.'),
  ALLOWED_SECRETS: list
    .prefault('codefresh-certs-server')
    .describe(
      'Secrets of the namespace that runtimes may mount or read variables from, besides those of the build; `*` for any.',
    ),
  ALLOWED_CLAIMS: list.prefault('').describe('PersistentVolumeClaims that runtimes may mount, besides the disk; `*` for any.'),
  ALLOWED_HOST_PATHS: list.prefault('').describe('Paths of the nodes that runtimes may mount, with all that is below them.'),
  ALLOWED_VOLUMES: list
    .prefault('')
    .describe('Further kinds of volumes that runtimes may mount, such as `nfs`, `csi` or `projected`.'),
  POLICY: z
    .enum(['strict', 'permissive'])
    .optional()
    .describe(
      '`permissive` lets pods of builds be as the server wants them, in the namespaces and with the service accounts above; `strict` when absent, but with protocol v1 nothing is checked then.',
    ),
  VOLUME_DIR: z
    .string()
    .optional()
    .describe('Folder on the nodes below which the agent makes disks itself; absent leaves disks to the storage class.'),
  QPS: z.coerce.number().positive().default(200).describe('Calls to the Kubernetes API per second.'),
  BURST: z.coerce.number().int().positive().default(400).describe('Calls that may be made at once after a pause.'),
  MAX_TASKS: z.coerce.number().int().positive().default(200).describe('Most tasks taken at once.'),
  SWEEP_MS: z.coerce
    .number()
    .int()
    .positive()
    .default(60_000)
    .describe('How often leftovers are compared with what the server knows, milliseconds.'),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Port for /livez, /readyz and /metrics; none when absent.'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least severe lines that are logged.'),
})
export type AgentConfig = z.infer<typeof AgentConfig>

const PREFIX = 'WINDLASS_AGENT_'

/**
 * Reads the settings, and those of the public agent where ours say nothing. Throws `config-invalid` that names every wrong key as it was
 * given.
 */
export function agentConfig(
  env: Readonly<Record<string, string | undefined>> = process.env,
  args: readonly string[] = [],
): Readonly<AgentConfig> {
  const vendor = withVendorSettings(env, args, PREFIX)
  try {
    return readConfig(AgentConfig, vendor.env, PREFIX)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const message = [...vendor.names].reduce((text, [ours, given]) => text.replaceAll(`${ours}:`, `${given}:`), error.message)
    throw fault('config-invalid', { ...error.details, message }, error)
  }
}

/** The access to the cluster needs the pod's address of the API server from the environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

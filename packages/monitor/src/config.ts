/** Settings of the monitor process, from `WINDLASS_MONITOR_*`. Each may come from a file named by `…_FILE`. */
import { readConfig } from '@windlass/kit'
import { z } from 'zod'

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
)

export const MonitorConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  TOKEN: z.string().min(1).describe("Token of the cluster's agent; better from a mounted file: WINDLASS_MONITOR_TOKEN_FILE."),
  CA: z.string().optional().describe('PEM file of further certificate authorities of the server.'),
  CLUSTER: z.string().min(1).max(150).describe('Name under which the cluster is shown, e.g. that of its kubeconfig context.'),
  KUBECONFIG: z.string().optional().describe("Path of a kubeconfig; the pod's own service account when absent."),
  NAMESPACES: list.optional().describe('Namespaces to report; the whole cluster when absent.'),
  HELM: z
    .stringbool()
    .default(false)
    .describe(
      "Report Helm's releases from the labels of its Secrets; needs the right to list Secrets, whose content is not read.",
    ),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Port for /livez, /readyz and /metrics; none when absent.'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least severe lines that are logged.'),
})
export type MonitorConfig = z.infer<typeof MonitorConfig>

/** Reads the settings. Throws `config-invalid` that names every wrong key. */
export function monitorConfig(env: Readonly<Record<string, string | undefined>> = process.env): Readonly<MonitorConfig> {
  return readConfig(MonitorConfig, env, 'WINDLASS_MONITOR_')
}

/** The access to the cluster needs the pod's address of the API server from the environment. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** Settings of the monitor process, from `WINDLASS_MONITOR_*`. Each may come from a file named by `…_FILE`. */
import { readConfig, splitList } from '@windlass/kit'
import { LogLevel, ProbePort } from '@windlass/kit/settings'
import { z } from 'zod'

const list = z.string().transform(splitList)

export const MonitorConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  TOKEN: z.string().min(1).describe("Token of the cluster's agent; prefer a mounted file: WINDLASS_MONITOR_TOKEN_FILE."),
  CA: z.string().optional().describe('PEM file with additional certificate authorities for the server.'),
  CLUSTER: z.string().min(1).max(150).describe('Display name of the cluster, e.g. that of its kubeconfig context.'),
  KUBECONFIG: z.string().optional().describe('Path of a kubeconfig. Default: the service account of the pod.'),
  NAMESPACES: list.optional().describe('Namespaces to report. Default: the whole cluster.'),
  HELM: z
    .stringbool()
    .default(false)
    .describe(
      'Report Helm releases from the labels of their Secrets. Needs permission to list Secrets; their content is not read.',
    ),
  PORT: ProbePort,
  LOG_LEVEL: LogLevel,
})
export type MonitorConfig = z.infer<typeof MonitorConfig>

/** Reads the settings. Throws `config-invalid` that names every wrong key. */
export function monitorConfig(env: Readonly<Record<string, string | undefined>> = process.env): Readonly<MonitorConfig> {
  return readConfig(MonitorConfig, env, 'WINDLASS_MONITOR_')
}

/** The environment of the process. In a pod, access to the cluster needs the address of the API server from it. */
export function environment(): Readonly<Record<string, string | undefined>> {
  return process.env
}

/** Settings of the `in-cluster` commands, from `WINDLASS_IN_CLUSTER_*`. Secrets are read only from files. */
import { existsSync, readFileSync } from 'node:fs'
import { readConfig } from '@windlass/kit'
import { GitopsRuntimeName } from '@windlass/protocol'
import { z } from 'zod'

export const InClusterConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  RUNTIME: z.string().min(1).max(150).describe('Name of the runtime environment.'),
  AGENT: z.string().min(1).max(150).optional().describe('Name of the agent; unset for a runtime without agent.'),
  AGENT_SECRET: z.string().min(1).optional().describe("Name of the Secret with the agent's token."),
  AGENT_SECRET_KEY: z.string().min(1).default('agent-codefresh-token').describe('Key of the Secret.'),
  AGENT_TOKEN_PATH: z
    .string()
    .default('/etc/windlass/agent-secret/token')
    .describe('Path of the mounted agent token, for `check`.'),
  OWNER: z.string().min(1).optional().describe("Name of the agent's Deployment, which becomes the owner of its Secret."),
  TOKEN_PATH: z.string().optional().describe('File with the API key of an admin; may be missing after the installation.'),
  GIVEN_AGENT_TOKEN_PATH: z.string().optional().describe('File with the token of an existing agent.'),
  APP_PROXY: GitopsRuntimeName.optional().describe('Name of the app-proxy; unset without one.'),
  APP_PROXY_SECRET: z.string().min(1).optional().describe('Name of the Secret with the token of the app-proxy.'),
  APP_PROXY_DIR: z.string().optional().describe('Folder for the files with the token of the app-proxy.'),
  RUNTIMES_DIR: z
    .string()
    .default('/etc/windlass/runtimes')
    .describe('Folder with runtime documents; the main one is runtime.yaml.'),
  NAMES: z.string().optional().describe("Additional names of the daemons' certificate, such as `DNS:a,IP:10.0.0.1`."),
  CERTIFICATE_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1095)
    .default(1095)
    .describe("Validity of the daemons' certificate, in days; a schedule renews it when a third is left."),
  CLUSTER_DOMAIN: z.string().default('cluster.local').describe('DNS domain of the cluster.'),
})
export type InClusterConfig = z.infer<typeof InClusterConfig>

/** Reads the settings; two of them also have Codefresh names. Throws `config-invalid` with every wrong key. */
export function inClusterConfig(env: Readonly<Record<string, string | undefined>>): Readonly<InClusterConfig> {
  const codefresh = {
    WINDLASS_IN_CLUSTER_NAMES: env['SERVER_CERT_EXTRA_SANS'],
    WINDLASS_IN_CLUSTER_CLUSTER_DOMAIN: env['KUBE_DOMAIN'],
  }
  return readConfig(InClusterConfig, { ...codefresh, ...env }, 'WINDLASS_IN_CLUSTER_')
}

/** Returns the trimmed text of a mounted secret; undefined if the file is missing or empty. */
export function readSecretFile(path: string | undefined): string | undefined {
  if (path === undefined || !existsSync(path)) return undefined
  const text = readFileSync(path, 'utf8').trim()
  return text === '' ? undefined : text
}

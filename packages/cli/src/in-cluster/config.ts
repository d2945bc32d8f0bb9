/** Settings of the commands that the Helm chart runs in the cluster, from `WINDLASS_IN_CLUSTER_*`. Secrets come by files only. */
import { existsSync, readFileSync } from 'node:fs'
import { readConfig } from '@windlass/kit'
import { z } from 'zod'

export const InClusterConfig = z.object({
  SERVER_URL: z.url().describe('Base URL of the server.'),
  RUNTIME: z.string().min(1).max(150).describe('Name of the runtime environment.'),
  AGENT: z.string().min(1).max(150).optional().describe('Name of the agent; none where a runtime has none.'),
  AGENT_SECRET: z.string().min(1).optional().describe("Name of the Secret with the agent's token."),
  AGENT_SECRET_KEY: z.string().min(1).default('agent-codefresh-token').describe('Its key.'),
  AGENT_TOKEN_PATH: z
    .string()
    .default('/etc/windlass/agent-secret/token')
    .describe("Where `check` finds the agent's token mounted."),
  OWNER: z.string().min(1).optional().describe("Name of the agent's Deployment, with which its Secret goes."),
  TOKEN_PATH: z.string().optional().describe('File with the API key of an admin; it may be missing after the installation.'),
  GIVEN_AGENT_TOKEN_PATH: z.string().optional().describe('File with the token of an agent that exists already.'),
  RUNTIMES_DIR: z
    .string()
    .default('/etc/windlass/runtimes')
    .describe('Folder of the documents of runtimes; the main one is runtime.yaml.'),
  NAMES: z.string().optional().describe("Further names of the daemons' certificate, such as `DNS:a,IP:10.0.0.1`."),
  CLUSTER_DOMAIN: z.string().default('cluster.local').describe("The cluster's own domain."),
})
export type InClusterConfig = z.infer<typeof InClusterConfig>

/** Reads the settings; the vendor's names of two of them count too. Throws `config-invalid` that names every wrong key. */
export function inClusterConfig(env: Readonly<Record<string, string | undefined>>): Readonly<InClusterConfig> {
  const vendor = {
    WINDLASS_IN_CLUSTER_NAMES: env['SERVER_CERT_EXTRA_SANS'],
    WINDLASS_IN_CLUSTER_CLUSTER_DOMAIN: env['KUBE_DOMAIN'],
  }
  return readConfig(InClusterConfig, { ...vendor, ...env }, 'WINDLASS_IN_CLUSTER_')
}

/** The text of a mounted secret without its last line break; undefined when there is no such file. */
export function readSecretFile(path: string | undefined): string | undefined {
  if (path === undefined || !existsSync(path)) return undefined
  const text = readFileSync(path, 'utf8').trim()
  return text === '' ? undefined : text
}

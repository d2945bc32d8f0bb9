/** Settings of the hooks of the chart windlass-gitops-runtime, from `WINDLASS_GITOPS_HOOK_*`. The API key is read only from a file. */
import { readConfig } from '@windlass/kit'
import { Port } from '@windlass/kit/settings'
import { GitopsRuntimeName, HttpUrl, Id } from '@windlass/protocol'
import { z } from 'zod'

export const GitopsHookConfig = z.object({
  SERVER_URL: HttpUrl.describe('Base URL of the server.'),
  RUNTIME: GitopsRuntimeName.describe('Name of the GitOps runtime.'),
  ACCOUNT_ID: Id.describe('Expected id of the account.'),
  TOKEN_PATH: z.string().min(1).describe('File with the API key of an admin; may be missing after the installation.'),
  SECRET: z.string().min(1).describe('Name of the Secret with the token of the runtime.'),
  TUNNEL: z.stringbool().default(false).describe('Whether the runtime is reached through a tunnel.'),
  URL: HttpUrl.optional().describe('URL of the runtime without a tunnel, which the server tells callers.'),
  HOSTED: z.stringbool().default(false).describe('Whether the runtime is in the cluster of the server.'),
  ACCESS: z
    .enum(['ingress', 'httproute', 'url'])
    .default('ingress')
    .describe('What the URL is the one of. That of an Ingress or an HTTPRoute must answer before the installation.'),
  SKIP_VALIDATION: z.stringbool().default(false).describe('Whether the URL need not answer.'),
  ARGO_CD_LABELS: z.string().optional().describe('Labels of the Service of Argo CD; its version is not checked if absent.'),
  ARGO_CD_SERVICE: z
    .string()
    .optional()
    .describe('Name of that Service, if the values name it; otherwise it is found by its labels.'),
  ARGO_CD_PORT: Port.optional().describe('Port of that Service.'),
  ARGO_CD_PROTOCOL: z.enum(['http', 'https']).optional().describe('Protocol of that Service.'),
  ARGO_CD_ROOT_PATH: z.string().optional().describe('Root path of the server of Argo CD.'),
  RECOVER: z.stringbool().default(false).describe('Whether an existing runtime that is offline is taken over.'),
})
export type GitopsHookConfig = z.output<typeof GitopsHookConfig>

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function gitopsHookConfig(env: Readonly<Record<string, string | undefined>>): Readonly<GitopsHookConfig> {
  return readConfig(GitopsHookConfig, env, 'WINDLASS_GITOPS_HOOK_')
}

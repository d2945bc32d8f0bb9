/** Settings of the hooks of the chart windlass-gitops-runtime, from `WINDLASS_GITOPS_HOOK_*`. The API key is read only from a file. */
import { readConfig } from '@windlass/kit'
import { GitopsRuntimeName, HttpUrl, Id } from '@windlass/protocol'
import { z } from 'zod'

export const GitopsHookConfig = z.object({
  SERVER_URL: HttpUrl.describe('Base URL of the server.'),
  RUNTIME: GitopsRuntimeName.describe('Name of the GitOps runtime.'),
  ACCOUNT_ID: Id.describe('Expected id of the account.'),
  TOKEN_PATH: z.string().min(1).describe('File with the API key of an admin; may be missing after the installation.'),
  SECRET: z.string().min(1).describe('Name of the Secret with the token of the runtime.'),
  TUNNEL: z.stringbool().default(false).describe('Whether the runtime is reached through a tunnel.'),
  URL: HttpUrl.optional().describe('URL of the Ingress, which must answer before the installation; not checked if absent.'),
  RECOVER: z.stringbool().default(false).describe('Whether an existing runtime that is offline is taken over.'),
})
export type GitopsHookConfig = z.output<typeof GitopsHookConfig>

/** Reads the settings. Throws `config-invalid` that lists every invalid key. */
export function gitopsHookConfig(env: Readonly<Record<string, string | undefined>>): Readonly<GitopsHookConfig> {
  return readConfig(GitopsHookConfig, env, 'WINDLASS_GITOPS_HOOK_')
}

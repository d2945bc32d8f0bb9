/** The Windlass server to which a manager reports its jobs, from `WINDLASS_GITLAB_SERVER_*`. Each may come from a file named by `…_FILE`. */
import { fault, isLoopback, readConfig } from '@windlass/kit'
import { HttpUrl } from '@windlass/protocol'
import { z } from 'zod'

export const ControlPlaneConfig = z.object({
  URL: HttpUrl.optional().describe(
    'Base URL of the Windlass server to which `windlass gitlab run` reports its jobs. None if not set.',
  ),
  TOKEN: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Key that is limited to the scope gitlab-report:write; prefer a mounted file: WINDLASS_GITLAB_SERVER_TOKEN_FILE. A changed file is read after the server refuses the key.',
    ),
  CA: z.string().optional().describe('PEM file with additional certificate authorities for the Windlass server.'),
  AGENT: HttpUrl.optional().describe(
    'Instead of URL and TOKEN: loopback address of an agent in the same pod, which passes the reports on to its server. The chart windlass-runtime sets it.',
  ),
})

export interface ControlPlane {
  readonly url: string
  /** Undefined for an agent in the same pod, which needs none. */
  readonly token: string | undefined
  readonly caFile: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

const PREFIX = 'WINDLASS_GITLAB_SERVER_'

/** Returns the variables with values that options replace. */
export function withOptions(
  env: Environment,
  {
    url,
    tokenFile,
    caFile,
  }: { readonly url?: string | undefined; readonly tokenFile?: string | undefined; readonly caFile?: string | undefined },
): Environment {
  return {
    ...env,
    ...(url !== undefined && { [`${PREFIX}URL`]: url }),
    ...(tokenFile !== undefined && { [`${PREFIX}TOKEN`]: undefined, [`${PREFIX}TOKEN_FILE`]: tokenFile }),
    ...(caFile !== undefined && { [`${PREFIX}CA`]: caFile }),
  }
}

/** Reads the settings of the Windlass server, and the file of the token. Undefined without a URL and an agent. Throws `config-invalid`. */
export function readControlPlane(env: Environment): ControlPlane | undefined {
  const { URL: url, TOKEN: token, CA: caFile, AGENT: agent } = readConfig(ControlPlaneConfig, env, PREFIX)
  // A server that was named is meant, whatever the chart of an agent has set.
  if (url === undefined && token === undefined) return agent === undefined ? undefined : ofAgent(agent)
  if (url === undefined)
    throw fault('config-invalid', {
      message: 'A token of a Windlass server is set, but no URL.',
      hint: `Set ${PREFIX}URL or --server-url, or remove the token.`,
    })
  if (token === undefined)
    throw fault('config-invalid', {
      message: `The URL of the Windlass server, ${url}, is set, but no token.`,
      hint: `Create a key with \`windlass create key NAME --role maintainer --scope gitlab-report:write\`, and name its file with --server-token-file or ${PREFIX}TOKEN_FILE.`,
    })
  return { url, token, caFile }
}

/** Throws `config-invalid` for an address outside of the pod: nothing protects the reports on the way. */
function ofAgent(url: string): ControlPlane {
  if (isLoopback(url)) return { url, token: undefined, caFile: undefined }
  throw fault('config-invalid', {
    message: `${PREFIX}AGENT is "${url}", which is not an address of this pod.`,
    hint: `Use the loopback address of an agent in the same pod, such as http://127.0.0.1:8082, or ${PREFIX}URL with a key.`,
  })
}

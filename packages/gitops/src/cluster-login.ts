/**
 * Reads a kubeconfig of a user. Only its data is accepted: a program or a file that it names would be run or read in the cluster of the runtime, where it does not
 * belong.
 */
import { parse } from 'yaml'
import { z } from 'zod'

const Kubeconfig = z.object({
  'current-context': z.string().optional(),
  contexts: z.array(z.object({ name: z.string(), context: z.object({ cluster: z.string(), user: z.string() }) })).default([]),
  clusters: z
    .array(
      z.object({
        name: z.string(),
        cluster: z.object({
          server: z.string().max(2_000),
          'certificate-authority-data': z.string().max(1_000_000).optional(),
          'certificate-authority': z.string().optional(),
          'insecure-skip-tls-verify': z.boolean().optional(),
        }),
      }),
    )
    .min(1),
  users: z.array(z.object({ name: z.string(), user: z.looseObject({ token: z.string().max(100_000).optional() }) })).min(1),
})

/** How Argo CD reaches a cluster. */
export interface ClusterLogin {
  /** URL of the API server. */
  readonly server: string
  readonly token: string
  /** Base64 of the PEM of its certificate authorities. Absent: the public ones. */
  readonly caData: string | undefined
}

/** Reads the cluster and the user of the current context, or the only ones. Returns a text that says what is wrong if the kubeconfig cannot be used. */
export function readClusterLogin(text: string): ClusterLogin | string {
  const config = Kubeconfig.safeParse(parsed(text)).data
  if (config === undefined) return 'The kubeconfig is not valid: it needs a cluster with a server, and a user.'
  const { contexts, clusters, users, 'current-context': current } = config
  const context = contexts.find(({ name }) => name === current)?.context
  if (context === undefined && (clusters.length > 1 || users.length > 1))
    return 'The kubeconfig has several clusters or users, and no current context.'
  const cluster = clusters.find(({ name }) => context === undefined || name === context.cluster)?.cluster
  const user = users.find(({ name }) => context === undefined || name === context.user)?.user
  if (cluster === undefined || user === undefined)
    return 'The current context of the kubeconfig names a cluster or user that it lacks.'
  const { server, 'certificate-authority-data': caData } = cluster
  if (URL.parse(server)?.protocol !== 'https:') return 'The server of the cluster must be an https URL.'
  if (cluster['certificate-authority'] !== undefined)
    return 'The kubeconfig names a file with certificate authorities. Put its content into certificate-authority-data.'
  if (cluster['insecure-skip-tls-verify'] === true) return 'The kubeconfig turns off the check of the certificate of the cluster.'
  if (user.token === undefined || user.token === '')
    return 'The user of the kubeconfig has no token. Programs, files and certificates are not accepted.'
  return { server: server.replace(/\/+$/, ''), token: user.token, caData }
}

function parsed(text: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch {
    return undefined
  }
}

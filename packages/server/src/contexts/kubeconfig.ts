/** Kubeconfigs as people paste them, made into what an engine can use anywhere (Kubernetes, "Organizing Cluster Access Using kubeconfig Files"). */
import { parseYaml, toValue } from '@windlass/pipeline'
import { z } from 'zod'

const Cluster = z.looseObject({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
})
const User = z.looseObject({
  'client-certificate': z.string().optional(),
  'client-key': z.string().optional(),
  tokenFile: z.string().optional(),
  exec: z.unknown().optional(),
  'auth-provider': z.unknown().optional(),
})
const Target = z.looseObject({ cluster: z.string(), user: z.string(), namespace: z.string().optional() })
const Kubeconfig = z.looseObject({
  clusters: z.array(z.looseObject({ name: z.string(), cluster: Cluster })),
  users: z.array(z.looseObject({ name: z.string(), user: User })),
  contexts: z.array(z.looseObject({ name: z.string(), context: Target })),
  'current-context': z.string().optional(),
})

/** Names of the contexts of a kubeconfig; none when it cannot be read. */
export function listContexts(text: string): string[] {
  const { root } = parseYaml({ text, file: 'kubeconfig' })
  const parsed = Kubeconfig.safeParse(root === undefined ? undefined : toValue(root))
  return parsed.success ? parsed.data.contexts.map(({ name }) => name) : []
}

/**
 * One context of a kubeconfig (YAML or JSON) alone, as JSON, everything in it named `name`: the current one, unless `wanted` names another. A text
 * says what is wrong with it: parts are missing, or it needs files or programs of the machine that it is from.
 */
export function readKubeconfig(
  text: string,
  name: string,
  wanted?: string,
): { readonly json: string } | { readonly problem: string } {
  const { root, problems } = parseYaml({ text, file: 'kubeconfig' })
  if (root === undefined) return { problem: `It is not YAML: ${problems[0]?.message ?? 'it is empty'}.` }
  const parsed = Kubeconfig.safeParse(toValue(root))
  if (!parsed.success) return { problem: 'It is no kubeconfig: clusters, users and contexts are needed.' }
  const { clusters, users, contexts, 'current-context': current } = parsed.data
  const only = wanted === undefined && contexts.length === 1 ? contexts[0] : undefined
  const context = (only ?? contexts.find((one) => one.name === (wanted ?? current)))?.context
  if (context === undefined) return { problem: 'It has no current context.' }
  const cluster = clusters.find((one) => one.name === context.cluster)?.cluster
  const user = users.find((one) => one.name === context.user)?.user
  if (cluster === undefined || user === undefined)
    return { problem: 'The current context names a cluster or a user that is not in it.' }
  const foreign = [cluster['certificate-authority'], user['client-certificate'], user['client-key'], user.tokenFile].some(Boolean)
  if (foreign) return { problem: 'It names files of another machine; `kubectl config view --minify --flatten` puts them inside.' }
  if (user.exec !== undefined || user['auth-provider'] !== undefined)
    return {
      problem: 'It asks a program for its credentials; use one with a token or a certificate, such as that of a service account.',
    }
  const { namespace } = context
  return {
    json: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name, ...(namespace !== undefined && { namespace }) } }],
      'current-context': name,
    }),
  }
}

/** Converts kubeconfigs of users into a form that an engine can use on any machine. */
import { defined } from '@windlass/kit/defined'
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

/** Returns the names of the contexts of a kubeconfig; empty if it cannot be parsed. */
export function listContexts(text: string): string[] {
  const { root } = parseYaml({ text, file: 'kubeconfig' })
  const parsed = Kubeconfig.safeParse(root === undefined ? undefined : toValue(root))
  return parsed.success ? parsed.data.contexts.map(({ name }) => name) : []
}

/**
 * Extracts one context of a kubeconfig (YAML or JSON) as JSON, with everything in it named `name`: the current context, or `wanted`. Returns a
 * problem if parts are missing, or if it refers to files or programs of the machine that it is from.
 */
export function readKubeconfig(
  text: string,
  name: string,
  wanted?: string,
): { readonly json: string } | { readonly problem: string } {
  const { root, problems } = parseYaml({ text, file: 'kubeconfig' })
  if (root === undefined) return { problem: `It is not valid YAML: ${problems[0]?.message ?? 'the file is empty'}.` }
  const parsed = Kubeconfig.safeParse(toValue(root))
  if (!parsed.success) return { problem: 'It is not a kubeconfig: it must have clusters, users and contexts.' }
  const { clusters, users, contexts, 'current-context': current } = parsed.data
  const only = wanted === undefined && contexts.length === 1 ? contexts[0] : undefined
  const context = (only ?? contexts.find((one) => one.name === (wanted ?? current)))?.context
  if (context === undefined) return { problem: 'It has no current context.' }
  const cluster = clusters.find((one) => one.name === context.cluster)?.cluster
  const user = users.find((one) => one.name === context.user)?.user
  if (cluster === undefined || user === undefined)
    return { problem: 'The current context refers to a cluster or a user that the kubeconfig does not have.' }
  const foreign = [cluster['certificate-authority'], user['client-certificate'], user['client-key'], user.tokenFile].some(Boolean)
  if (foreign)
    return { problem: 'It refers to files on another machine. Embed them with `kubectl config view --minify --flatten`.' }
  if (user.exec !== undefined || user['auth-provider'] !== undefined)
    return {
      problem:
        'It runs a program to get credentials. Use a token or a client certificate instead, for example those of a service account.',
    }
  const { namespace } = context
  return {
    json: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster }],
      users: [{ name, user }],
      contexts: [{ name, context: { cluster: name, user: name, ...defined({ namespace }) } }],
      'current-context': name,
    }),
  }
}

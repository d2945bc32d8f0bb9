/** Cluster integrations: the clusters that deploy steps can reach. Each is a context of type `kubernetes`. */
import { defined, fault } from '@windlass/kit'
import type { Cluster, ClusterInput, Context } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listShownContexts, putContext, removeContext } from '../contexts/contexts.ts'
import type { Within } from '../store/store.ts'

/**
 * Adds a cluster. `within` runs in the same transaction. Throws `conflict` if the name is taken, `request-invalid` if the credentials cannot be used.
 */
export async function addCluster(
  app: App,
  input: ClusterInput,
  { by, within }: { readonly by: string; readonly within?: Within<Cluster> },
): Promise<Cluster> {
  const data = {
    kubeconfig: input.kubeconfig ?? toKubeconfig(input),
    provider: input.provider,
    behindFirewall: String(input.behindFirewall),
  }
  const { context } = await putContext(
    app,
    { input: { name: input.name, type: 'kubernetes', isDefault: false, data }, mustBeNew: true, by },
    async (tx, stored) => within?.(tx, toCluster(stored)),
  )
  return toCluster(context)
}

function toKubeconfig({ name, server, ca, token, namespace }: ClusterInput): string {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, ...authority } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, ...defined({ namespace }) } }],
    'current-context': name,
  })
}

export async function listClusters(app: App): Promise<Cluster[]> {
  return (await listShownContexts(app)).filter(({ type }) => type === 'kubernetes').map(toCluster)
}

/** Finds a cluster by id or name. Throws `not-found`. */
export async function showCluster(app: App, name: string): Promise<Cluster> {
  const cluster = (await listClusters(app)).find((one) => one.id === name || one.name === name)
  if (cluster === undefined) throw fault('not-found', { message: `The cluster "${name}" does not exist.` })
  return cluster
}

/** Removes a cluster by id or name. Throws `not-found`. */
export async function removeCluster(app: App, name: string): Promise<void> {
  await removeContext(app, (await showCluster(app, name)).id)
}

function toCluster({ id, name, data, createdAt, updatedAt }: Context): Cluster {
  const { provider, behindFirewall } = data
  return {
    id,
    name,
    provider: typeof provider === 'string' ? provider : 'local',
    behindFirewall: behindFirewall === 'true',
    createdAt,
    updatedAt,
  }
}

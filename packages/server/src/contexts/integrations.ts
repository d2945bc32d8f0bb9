import type { ClusterAccess, GitAccess, RegistryAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/contexts.ts'
import { openContextData } from './context-data.ts'
import { readKubeconfig } from './kubeconfig.ts'

export interface Integrations {
  readonly git: GitAccess[]
  readonly registries: RegistryAccess[]
  readonly clusters: ClusterAccess[]
}

/** Every integration of the account with its credentials, for an engine's memory. Steps find `injected` clusters, or all when it is absent. */
export async function readIntegrations(app: App, injected?: readonly string[]): Promise<Integrations> {
  const git: GitAccess[] = []
  const registries: RegistryAccess[] = []
  const clusters: ClusterAccess[] = []
  for (const row of await listContexts(app.store.query, app.accountId)) {
    if (row.type === 'config' || row.type === 'secret') continue
    const { url = '', domain = '', kubeconfig = '', ...data } = openContextData(app.vault, row)
    const common = { context: row.name, isDefault: row.is_default === 1 }
    if (row.type === 'git') git.push({ ...data, ...common, url })
    else if (row.type === 'kubernetes') clusters.push(...toCluster(row.name, kubeconfig, injected))
    else registries.push({ ...data, ...common, domain })
  }
  return { git, registries, clusters }
}

function toCluster(name: string, text: string, injected: readonly string[] | undefined): ClusterAccess[] {
  const read = readKubeconfig(text, name)
  return 'json' in read ? [{ context: name, kubeconfig: read.json, injected: injected?.includes(name) ?? true }] : []
}

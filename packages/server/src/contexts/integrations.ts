import type { ClusterAccess, GitAccess, RegistryAccess, SecretStoreAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/account/contexts.ts'
import { openContextData, openContextVariables } from './context-data.ts'
import { readGitLogin, toGitAccess } from './git-login.ts'
import { readStoredKubeconfig } from './stored-kubeconfig.ts'
import { toRuntimeAccess } from './runtime-stores.ts'

export interface Integrations {
  readonly git: GitAccess[]
  readonly registries: RegistryAccess[]
  readonly clusters: ClusterAccess[]
  readonly secretStores: SecretStoreAccess[]
}

/** Reads every integration of the account with its credentials, for an engine. Steps get the `injected` clusters, or all if it is undefined. */
export async function readIntegrations(app: App, injected?: readonly string[]): Promise<Integrations> {
  const git: GitAccess[] = []
  const registries: RegistryAccess[] = []
  const clusters: ClusterAccess[] = []
  const secretStores: SecretStoreAccess[] = []
  for (const row of await listContexts(app.store.query, app.accountId)) {
    if (openContextVariables(app.vault, row) !== undefined) continue
    if (row.type === 'git') {
      git.push(toGitAccess(row, await readGitLogin(app, row)))
      continue
    }
    const {
      url = '',
      domain = '',
      kubeconfig = '',
      mount = 'secret',
      token = '',
      primary,
      ...data
    } = openContextData(app.vault, row)
    const common = { context: row.name, isDefault: row.is_default === 1 }
    if (row.type === 'kubernetes') clusters.push(...(await toCluster(app, { name: row.name, text: kubeconfig, injected })))
    else if (row.type === 'secret-store' && data['resourceName'] !== undefined)
      secretStores.push(toRuntimeAccess(row, data['resourceName']))
    else if (row.type === 'secret-store') secretStores.push({ ...data, context: row.name, url, mount, token })
    else registries.push({ ...data, ...common, domain, ...(primary === 'true' && { isPrimary: true }) })
  }
  return { git, registries, clusters, secretStores }
}

interface StoredCluster {
  readonly name: string
  readonly text: string
  readonly injected: readonly string[] | undefined
}

async function toCluster(app: App, { name, text, injected }: StoredCluster): Promise<ClusterAccess[]> {
  const read = await readStoredKubeconfig(app, text, name)
  return 'json' in read ? [{ context: name, kubeconfig: read.json, injected: injected?.includes(name) ?? true }] : []
}

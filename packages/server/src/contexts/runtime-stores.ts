/** Secret stores that are Secrets and ConfigMaps of the cluster that builds run in. */
import type { SecretStoreAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/account/contexts.ts'
import type { ContextRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'
import { openContextData } from './context-data.ts'

/** A Secret or ConfigMap to mount into the engine pod. */
export interface RuntimeStore {
  readonly folder: string
  readonly resourceType: 'secret' | 'configmap'
  readonly resourceName: string
}

/** Returns the folder in which the engine finds the keys of a store. */
function folderOf({ id }: Pick<ContextRow, 'id'>): string {
  return `/etc/windlass/stores/${id}`
}

/** Returns what the engine gets for such a store: the folder with one file per key. */
export function toRuntimeAccess(row: ContextRow, resourceName: string): SecretStoreAccess {
  return { context: row.name, url: '', mount: '', token: '', path: resourceName, folder: folderOf(row) }
}

/** Returns the stores that a build on the runtime may read and that its plan names. For a plan that is not compiled yet, returns all of them. */
export async function listRuntimeStores(
  app: App,
  { query, runtime, plan }: { query: Query; runtime: string; plan: string | null },
): Promise<RuntimeStore[]> {
  const namesUnknown = plan === null || plan.includes('"source":')
  const rows = await listContexts(query, app.accountId)
  return rows.flatMap((row) => {
    if (row.type !== 'secret-store' || !(namesUnknown || plan.includes(`secrets.${row.name}.`))) return []
    const { runtime: wanted = '*', resourceType, resourceName } = openContextData(app.vault, row)
    if (resourceName === undefined || (wanted !== '*' && wanted !== runtime)) return []
    return [{ folder: folderOf(row), resourceType: resourceType === 'configmap' ? 'configmap' : 'secret', resourceName }]
  })
}

/** Secret stores that are Secrets and ConfigMaps of the cluster that builds run in (runner specification 4.7). */
import type { SecretStoreAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/contexts.ts'
import type { ContextRow } from '../store/schema.ts'
import type { Query } from '../store/store.ts'
import { openContextData } from './context-data.ts'

/** What the engine's pod mounts for a store. */
export interface RuntimeStore {
  readonly folder: string
  readonly resourceType: 'secret' | 'configmap'
  readonly resourceName: string
}

/** Where the engine finds the keys of the store of a context. */
function folderOf({ id }: Pick<ContextRow, 'id'>): string {
  return `/etc/windlass/stores/${id}`
}

/** What an engine is told of such a store: where its keys are files. */
export function toRuntimeAccess(row: ContextRow, resourceName: string): SecretStoreAccess {
  return { context: row.name, url: '', mount: '', token: '', path: resourceName, folder: folderOf(row) }
}

/** The stores that a build on the runtime may read, as far as its plan names them: others are not lent to it. A plan that is not compiled yet may name any. */
export async function listRuntimeStores(
  app: App,
  { query, runtime, plan }: { query: Query; runtime: string; plan: string | null },
): Promise<RuntimeStore[]> {
  const isOpen = plan === null || plan.includes('"source":')
  const rows = await listContexts(query, app.accountId)
  return rows.flatMap((row) => {
    if (row.type !== 'secret-store' || !(isOpen || plan.includes(`secrets.${row.name}.`))) return []
    const { runtime: wanted = '*', resourceType, resourceName } = openContextData(app.vault, row)
    if (resourceName === undefined || (wanted !== '*' && wanted !== runtime)) return []
    return [{ folder: folderOf(row), resourceType: resourceType === 'configmap' ? 'configmap' : 'secret', resourceName }]
  })
}

import type { GitAccess, RegistryAccess } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/contexts.ts'
import { openContextData } from './context-data.ts'

export interface Integrations {
  readonly git: GitAccess[]
  readonly registries: RegistryAccess[]
}

/** Every git and registry integration of the account with its credentials, for an engine's memory. */
export async function readIntegrations(app: App): Promise<Integrations> {
  const git: GitAccess[] = []
  const registries: RegistryAccess[] = []
  for (const row of await listContexts(app.store.query, app.accountId)) {
    if (row.type !== 'git' && row.type !== 'registry') continue
    const { url = '', domain = '', ...data } = openContextData(app.vault, row)
    const common = { context: row.name, isDefault: row.is_default === 1 }
    if (row.type === 'git') git.push({ ...data, ...common, url })
    else registries.push({ ...data, ...common, domain })
  }
  return { git, registries }
}

/** What validation may know of the account: names of integrations, and what variables builds have. No secret is read. */
import type { AccountContext } from '@windlass/pipeline'
import type { VariableLayer } from '@windlass/plan'
import type { AccountSettings } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/contexts.ts'
import { toContext } from './context-data.ts'

/** The account as builds of these variables see it; one query. */
export async function readAccountContext(
  app: App,
  { layers, settings }: { layers: readonly VariableLayer[]; settings: AccountSettings },
): Promise<AccountContext> {
  const rows = await listContexts(app.store.query, app.accountId)
  const of = (type: 'git' | 'registry' | 'kubernetes'): ReturnType<typeof toContext>[] =>
    rows.filter((row) => row.type === type).map(toContext)
  return {
    git: of('git').map(({ name, isDefault }) => ({ name, isDefault })),
    registries: of('registry').map(({ name, isDefault, data }) => ({ name, isDefault, domain: textOf(data['domain']) })),
    clusters: of('kubernetes').map(({ name, isDefault }) => ({ name, isDefault })),
    variables: new Set(layers.flatMap(({ variables }) => Object.keys(variables))),
    // `explicit` of the settings pushes to the default registry too, where there is one.
    autoPush: settings.autoPush !== 'never',
    disablePush: settings.autoPush === 'never',
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

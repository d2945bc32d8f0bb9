/** The account data that validation may use: names of integrations and names of variables. Reads no secret. */
import type { AccountContext } from '@windlass/pipeline'
import type { VariableLayer } from '@windlass/plan'
import type { AccountSettings } from '@windlass/protocol'
import type { App } from '../app.ts'
import { listContexts } from '../store/account/contexts.ts'
import { toContext } from './context-data.ts'

/** Reads the account as builds with these variables see it. One query. */
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
    // With `explicit`, images are still pushed to the default registry if there is one.
    autoPush: settings.autoPush !== 'never',
    disablePush: settings.autoPush === 'never',
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

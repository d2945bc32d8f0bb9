/** Settings of the account: defaults for pipelines, and limits that apply to all of them. */
import { AccountSettings } from '@windlass/protocol'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { findAccountSettings, saveAccountSettings } from '../store/account/accounts.ts'
import type { Query } from '../store/store.ts'

/** Reads the settings and fills in the defaults. */
export async function readAccountSettings(query: Query, accountId: string): Promise<AccountSettings> {
  return AccountSettings.parse(JSON.parse((await findAccountSettings(query, accountId)) ?? '{}'))
}

/** Replaces all settings; a raised limit takes effect immediately. */
export async function putAccountSettings(app: App, settings: AccountSettings): Promise<AccountSettings> {
  await app.store.write(async (tx) => {
    await saveAccountSettings(tx, app.accountId, JSON.stringify(settings))
    tx.wake(ELECT_TOPIC)
  })
  return settings
}

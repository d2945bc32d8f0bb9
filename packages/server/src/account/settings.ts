/** Settings of the account: what pipelines leave open, and what holds for all of them. */
import { AccountSettings } from '@windlass/protocol'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { findAccountSettings, saveAccountSettings } from '../store/accounts.ts'
import type { Query } from '../store/store.ts'

/** The settings, with the defaults of those that nobody set. */
export async function readAccountSettings(query: Query, accountId: string): Promise<AccountSettings> {
  return AccountSettings.parse(JSON.parse((await findAccountSettings(query, accountId)) ?? '{}'))
}

/** Replaces all settings; a limit that was raised takes effect at once. */
export async function putAccountSettings(app: App, settings: AccountSettings): Promise<AccountSettings> {
  await app.store.write(async (tx) => {
    await saveAccountSettings(tx, app.accountId, JSON.stringify(settings))
    tx.wake(ELECT_TOPIC)
  })
  return settings
}

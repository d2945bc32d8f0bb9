/** Settings of the account: defaults for pipelines, and limits that apply to all of them. */
import { REASONS } from '@windlass/plan'
import { AccountSettings } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { describeChanges } from '../audit/describe-changes.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { findAccountSettings, saveAccountSettings } from '../store/account/accounts.ts'
import { changeWaitingMessage } from '../store/builds/waiting.ts'
import type { Query } from '../store/store.ts'

/** Reads the settings and fills in the defaults. */
export async function readAccountSettings(query: Query, accountId: string): Promise<AccountSettings> {
  return AccountSettings.parse(JSON.parse((await findAccountSettings(query, accountId)) ?? '{}'))
}

/** Returns what builds say that wait for the end of a pause. */
export function pauseMessage({ pauseReason }: Pick<AccountSettings, 'pauseReason'>): string {
  const { text } = REASONS['account-paused']
  return pauseReason === undefined ? text : `${text.replace(/\.$/, '')}: ${pauseReason}`
}

/** Replaces all settings; a raised limit takes effect immediately. Builds that wait for the end of a pause repeat its new reason. */
export async function putAccountSettings(app: App, settings: AccountSettings): Promise<AccountSettings> {
  await app.store.write(async (tx) => {
    noteDetail(describeChanges('settings', await readAccountSettings(tx.query, app.accountId), settings))
    await saveAccountSettings(tx, app.accountId, JSON.stringify(settings))
    // The election explains a build again only if its waiting reason changes, and this one stays `account-paused`.
    if (settings.pauseBuilds)
      await changeWaitingMessage(tx, app.accountId, { reason: 'account-paused', message: pauseMessage(settings) })
    tx.wake(ELECT_TOPIC)
  })
  return settings
}

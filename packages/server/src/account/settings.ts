/** Settings of the account: defaults for pipelines, and limits that apply to all of them. */
import { fault } from '@windlass/kit'
import { REASONS } from '@windlass/plan'
import { AccountSettings, type AccountSettingsInput } from '@windlass/protocol'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { describeChanges } from '../audit/describe-changes.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { findTeam } from '../store/access/teams.ts'
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

/**
 * Replaces all settings; a raised limit takes effect immediately. Builds that wait for the end of a pause repeat its new reason. Throws `not-found` for an
 * unknown team.
 */
export async function putAccountSettings(app: App, input: AccountSettingsInput): Promise<AccountSettings> {
  return app.store.write(async (tx) => {
    const before = await readAccountSettings(tx.query, app.accountId)
    const settings = { ...input, runtimeAccess: input.runtimeAccess ?? before.runtimeAccess }
    await requireTeams(app, tx.query, { before, settings })
    noteDetail(describeChanges('settings', before, settings))
    await saveAccountSettings(tx, app.accountId, JSON.stringify(settings))
    // The election explains a build again only if its waiting reason changes, and this one stays `account-paused`.
    if (settings.pauseBuilds)
      await changeWaitingMessage(tx, app.accountId, { reason: 'account-paused', message: pauseMessage(settings) })
    tx.wake(ELECT_TOPIC)
    return settings
  })
}

/** Throws `not-found` for an unknown team that was not there before: other settings can still be changed after a team was deleted. */
async function requireTeams(
  { accountId }: App,
  query: Query,
  { before, settings }: Readonly<Record<'before' | 'settings', AccountSettings>>,
): Promise<void> {
  const known = new Set(Object.values(before.runtimeAccess).flat())
  for (const name of new Set(Object.values(settings.runtimeAccess).flat()))
    if (!known.has(name) && (await findTeam(query, accountId, name))?.name !== name)
      throw fault('not-found', {
        message: `The team "${name}" of \`runtimeAccess\` does not exist.`,
        hint: 'List them with `windlass get teams`.',
      })
}

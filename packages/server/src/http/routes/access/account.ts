/** The settings of the account, and the master keys that seal stored secrets. */
import { AccountSettings, AccountSettingsInput, MasterKeys, RotationInput } from '@windlass/protocol'
import { putAccountSettings, readAccountSettings } from '../../../account/settings.ts'
import type { App } from '../../../app.ts'
import { pruneKeys, rotateKeys, showKeys } from '../../../secrets/master-keys.ts'
import { ok, route, type Answer, type Route } from '../../route.ts'

export function settingsRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/settings', {
      summary: 'Show the settings of the account',
      allow: 'see-account',
      scope: 'account:read',
      replies: { 200: AccountSettings },
      handle: async () => ok(await readAccountSettings(app.store.query, app.accountId)),
    }),
    route('PUT', '/v1/settings', {
      summary: 'Replace the settings of the account; omitted settings get their defaults, except runtimeAccess',
      allow: 'manage-account',
      scope: 'account:write',
      body: AccountSettingsInput,
      replies: { 200: AccountSettings },
      handle: async ({ body }) => ok(await putAccountSettings(app, body)),
    }),
  ]
}

export function masterKeyRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/master-keys', {
      summary: 'Show the keys that seal stored secrets, and the progress of a rotation',
      allow: 'manage-account',
      scope: 'account:read',
      replies: { 200: MasterKeys },
      handle: async () => ok(await showKeys(app)),
    }),
    route('POST', '/v1/master-keys/rotation', {
      summary: 'Make a new master key current and seal every stored secret with it; resumes an unfinished rotation',
      allow: 'manage-account',
      scope: 'account:write',
      body: RotationInput,
      isHeld: true,
      replies: { 202: MasterKeys },
      async handle({ body, settle }) {
        const answer = (keys: MasterKeys): Answer => ({ status: 202, body: keys })
        return answer(await rotateKeys(app, body, (tx, keys) => settle(tx, answer(keys))))
      },
    }),
    route('POST', '/v1/master-keys/prune', {
      summary: 'Remove older master keys that are no longer needed',
      allow: 'manage-account',
      scope: 'account:write',
      replies: { 202: MasterKeys },
      handle: async () => ({ status: 202, body: await pruneKeys(app) }),
    }),
  ]
}

/** Who calls, and which server answers: what public clients ask before every command. */
import { fault } from '@windlass/kit'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { findDefaultRuntime } from '../../../store/runtimes/runtimes.ts'
import { VERSION } from '../../../version.ts'
import { ok, route, type Route } from '../../route.ts'
import { Texts } from '../documents.ts'

const Account = z.object({ _id: z.string(), id: z.string(), name: z.string(), runtimeEnvironment: z.string() })
const User = z.object({
  _id: z.string(),
  userName: z.string(),
  email: z.string(),
  /** `Admin` lets clients use the commands for layers of runtime environments. */
  roles: z.array(z.string()),
  activeAccountName: z.string(),
  account: z.array(Account),
})

async function accountOf(app: App): Promise<z.output<typeof Account>> {
  const runtime = await findDefaultRuntime(app.store.query, app.accountId)
  return { _id: app.accountId, id: app.accountId, name: app.accountName, runtimeEnvironment: runtime?.name ?? '' }
}

export function userRoutes(app: App): Route[] {
  return [
    route('GET', '/api/user', {
      summary: 'Show the key that calls, as a user of the account',
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: User },
      async handle({ actor }) {
        if (actor.kind !== 'key') throw fault('forbidden')
        const { id: _id, name: userName, role } = actor
        const roles = role === 'admin' ? ['User', 'Admin'] : ['User']
        return ok({ _id, userName, email: '', roles, activeAccountName: app.accountName, account: [await accountOf(app)] })
      },
    }),
    route('GET', '/api/execution-contexts/current', {
      summary: 'Show what the credential belongs to: the steps of a build, or a key',
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: z.object({ type: z.string(), accountId: z.string(), ref: z.string() }) },
      async handle({ actor }) {
        if (actor.kind === 'build') return ok({ type: 'workflow', accountId: app.accountId, ref: actor.buildId })
        return ok({ type: 'user', accountId: app.accountId, ref: actor.kind === 'key' ? actor.id : '' })
      },
    }),
    route('GET', '/api/admin/accounts', {
      summary: 'List the accounts of the server',
      allow: 'manage-account',
      scope: 'account:read',
      query: z.object({ name: Texts, _id: Texts }),
      replies: { 200: z.array(Account) },
      async handle({ query: { name, _id } }) {
        const account = await accountOf(app)
        const isWanted = (wanted: z.output<typeof Texts>, own: string): boolean =>
          wanted === undefined || [wanted].flat().includes(own)
        return ok(isWanted(name, account.name) && isWanted(_id, account.id) ? [account] : [])
      },
    }),
    versionRoute('/api/version', 'Show the version of the server'),
    // The server also does the work of these two services.
    versionRoute('/api/hermes/version', 'Show the version of the service for triggers'),
    versionRoute('/nomios/version', 'Show the version of the service for registry events'),
  ]
}

function versionRoute(path: string, summary: string): Route {
  return route('GET', path, {
    summary,
    allow: 'signed-in',
    scope: 'none',
    replies: { 200: z.object({ current_commit: z.string(), version: z.string() }) },
    handle: async () => ok({ current_commit: VERSION, version: VERSION }),
  })
}

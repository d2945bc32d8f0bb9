/**
 * Sign-in through the provider. A user is found by issuer and subject only: a name or an e-mail address can be given to another person at the provider. The
 * first sign-in creates the user. Groups set the roles at each sign-in.
 */
import { fault } from '@windlass/kit'
import { shellWord } from '@windlass/plan'
import type { App } from '../../app.ts'
import { noteCaller, noteDetail } from '../../audit/call.ts'
import { CURRENT_KEY } from '../../secrets/vault.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { findIdentity, replaceIdentity } from '../../store/access/identities.ts'
import { findMeta } from '../../store/account/meta.ts'
import { findProject } from '../../store/pipelines/projects.ts'
import { listProjectRoles, setProjectRole } from '../../store/access/roles.ts'
import { findUser, insertUser, listKeyIds, updateUser } from '../../store/access/users.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import type { Tx } from '../../store/store.ts'
import { requireAdminLeft } from '../keys/keys.ts'
import { isSecure } from '../origin.ts'
import { openSession, type SignInFrom, type Started } from '../sessions/sign-in.ts'
import { newUser, userNameOf } from '../users/users.ts'
import { requireProvider } from './link.ts'
import { findLogin, newLogin, readLoginCookie, writeLoginCookie, type ReturnPage } from './login.ts'
import type { Identity } from './provider.ts'
import { grantsOf, type OidcSettings } from './settings.ts'

/** Path to which the provider sends the user back. */
export const CALLBACK_PATH = '/v1/sessions/oidc/callback'

/** A page to go to, and the cookies to set on the way. */
export interface Redirect {
  readonly location: string
  readonly cookies: readonly string[]
}

/** Starts a sign-in. Throws `not-found` without a provider, and `unavailable` if it does not respond. */
export async function beginOidcSignIn(
  app: App,
  { request }: Pick<SignInFrom, 'request'>,
  returnTo: ReturnPage,
): Promise<Redirect> {
  const provider = requireProvider(app)
  const keyId = (await findMeta(app.store.query, CURRENT_KEY)) ?? ''
  const login = newLogin(app.vault, { keyId, now: app.clock.now(), returnTo })
  const page = await provider.pageFor(login, app.advertisedUrl() + CALLBACK_PATH)
  return { location: page.href, cookies: [writeLoginCookie(login.cookie, isSecure(app, request.protocol))] }
}

export interface Finished extends Redirect {
  /** Ids of the keys of the user, whose roles may have changed. The authenticator must forget them. */
  readonly keys: readonly string[]
}

/** Ends a sign-in with the parameters of the provider. Throws `unauthenticated`, `conflict`, and `not-found` or `unavailable` like `beginOidcSignIn`. */
export async function finishOidcSignIn(
  app: App,
  from: SignInFrom,
  parameters: Readonly<Record<string, string | undefined>>,
): Promise<Finished> {
  const provider = requireProvider(app)
  const secure = isSecure(app, from.request.protocol)
  const login = findLogin(app.vault, readLoginCookie(from.request.headers, secure), {
    now: app.clock.now(),
    knows: (keyId) => app.vault.ring.find(keyId) !== undefined,
  })
  if (login === undefined)
    throw fault('unauthenticated', {
      message: 'This browser has not started the sign-in, or it took more than ten minutes.',
      hint: `Open ${app.advertisedUrl()}/signin and sign in again. The browser must accept cookies.`,
    })
  const answer = new URL(app.advertisedUrl() + CALLBACK_PATH)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) answer.searchParams.set(name, value)
  const identity = await provider.identify(login, answer)
  noteCaller({ kind: 'nobody', id: '', name: identity.name })
  let keys: readonly string[] = []
  const { cookie }: Started = await openSession(app, from, 'oidc', async (tx) => {
    await lockAccount(tx, app.accountId)
    const user = await findOrCreate(app, tx, { settings: provider.settings, identity })
    keys = await listKeyIds(tx.query, user.id)
    return { userId: user.id }
  })
  return { location: `/${login.returnTo}`, cookies: [cookie, writeLoginCookie('', secure)], keys }
}

interface Known {
  readonly settings: OidcSettings
  readonly identity: Identity
}

/** Returns the user of the identity with the roles of its groups. Throws `unauthenticated` for a disabled user, `conflict` if the name of a new one is taken. */
async function findOrCreate(app: App, tx: Tx, known: Known): Promise<UserRow> {
  const { settings, identity } = known
  const key = { account_id: app.accountId, issuer: settings.issuer, subject: identity.subject }
  const link = await findIdentity(tx.query, key)
  const user = link === undefined ? undefined : await findUser(tx.query, app.accountId, link.user_id)
  if (user !== undefined && user.disabled_at !== null)
    throw fault('unauthenticated', { message: `The user "${user.name}" is disabled.`, hint: 'Ask an admin to enable the user.' })
  const now = app.clock.now()
  const current = user ?? (await createFor(app, tx, known))
  if (user === undefined) await replaceIdentity(tx, { ...key, user_id: current.id, created_at: now })
  const role = await applyGroups(app, tx, { ...known, user: current })
  const displayName = identity.displayName?.slice(0, MAX_DISPLAY_NAME) ?? current.display_name
  await updateUser(tx, current.id, { role, display_name: displayName, signed_in_at: now })
  if (current.role === 'admin' && role !== 'admin') await requireAdminLeft(app, tx)
  noteDetail(`${current.name} signed in through ${settings.name}, role ${role}`)
  return current
}

const MAX_DISPLAY_NAME = 150

async function createFor(app: App, tx: Tx, { settings, identity }: Known): Promise<UserRow> {
  const name = userNameOf(identity.name).replace(/^[^a-z0-9]+/, '') || `user-${userNameOf(identity.subject)}`.slice(0, 100)
  if ((await findUser(tx.query, app.accountId, name)) !== undefined)
    throw fault('conflict', {
      message: `The user "${name}" already exists and is not linked to this account of ${settings.name}.`,
      hint: `Ask an admin to link it, if it is the same person: \`windlass set user ${name} --subject ${shellWord(identity.subject)}\`.`,
    })
  const user = newUser(app, { kind: 'user', name, role: settings.defaultRole })
  await insertUser(tx, user)
  return user
}

/** Sets the roles in the projects that the settings name. Returns the role for the installation. Roles in other projects remain. */
async function applyGroups(app: App, tx: Tx, { settings, identity, user }: Known & { user: UserRow }): Promise<UserRow['role']> {
  const grants = grantsOf(settings, identity.groups)
  if (grants === undefined) return user.role
  const held = new Map((await listProjectRoles(tx.query, [user.id])).map(({ name, role }) => [name, role]))
  for (const [name, role] of grants.projects) {
    if (held.get(name) === role) continue
    const project = await findProject(tx.query, app.accountId, name)
    // A project of the settings may be created later.
    if (project !== undefined) await setProjectRole(tx, { subject_id: user.id, project_id: project.id }, role)
  }
  return grants.role
}

/** Users and service accounts: their roles, their state, and the keys and sessions that end with it. */
import { defined, fault, newId } from '@windlass/kit'
import type { Role, User, UserChange, UserCreated, UserGranted, UserInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import {
  deleteUser,
  endSessionsOf,
  findUser,
  insertUser,
  listKeyIds,
  listTeamsOfUsers,
  listUsers,
  updateUser,
  type TeamOfUser,
  type UserFilter,
} from '../../store/access/users.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import { listIdentities } from '../../store/access/identities.ts'
import type { Query, Within } from '../../store/store.ts'
import { linkSubject } from '../oidc/link.ts'
import { newInvitation, saveNewInvitation } from './invitations.ts'
import { requireAdminLeft } from '../keys/keys.ts'
import { hashPassword } from '../sessions/password.ts'
import { describeRoles, NO_ROLES, putRoles, readPlaceRoles, setRole, type PlaceRoles, type RolePlace } from '../roles.ts'

type NewUser = Pick<UserRow, 'kind' | 'name' | 'role'> & {
  readonly displayName?: string | undefined
  readonly password?: string | null
}

/** Returns the row of a new user. */
export function newUser(app: App, { kind, name, role, displayName, password = null }: NewUser): UserRow {
  const now = app.clock.now()
  return {
    id: newId(now),
    account_id: app.accountId,
    kind,
    name,
    display_name: displayName ?? null,
    role,
    password,
    disabled_at: null,
    signed_in_at: null,
    created_at: now,
    updated_at: now,
  }
}

/** Returns the name of a key as the name of a user, which has fewer characters to choose from. */
export function userNameOf(keyName: string): string {
  return keyName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._@-]/g, '-')
    .slice(0, 100)
}

/**
 * Creates a user or service account. A user without a password gets an invitation. `within` runs in the same transaction, before the name is checked. Throws
 * `conflict` if the name is taken, `not-found` for an unknown project or pipeline, and `request-invalid` for a service account with a password.
 */
export async function createUser(
  app: App,
  input: z.output<typeof UserInput>,
  within?: Within<UserCreated>,
): Promise<UserCreated> {
  const { kind, name, role, displayName, projects, pipelines, password } = input
  const roles = { projects, pipelines }
  if (kind === 'service-account' && password !== undefined)
    throw fault('request-invalid', {
      message: 'A service account has no password.',
      hint: 'Create a key for it: `windlass create key NAME --for SERVICE-ACCOUNT`.',
    })
  const hash = password === undefined ? null : await hashPassword(password)
  const row = newUser(app, { kind, name, role, displayName, password: hash })
  const invitation = kind === 'user' && hash === null ? newInvitation(app, row.id) : undefined
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const created: UserCreated = { ...toUser(row, { roles }), ...defined({ invitation: invitation?.shown }) }
    await within?.(tx, created)
    if ((await findUser(tx.query, app.accountId, name)) !== undefined) throw alreadyExists(name)
    await insertUser(tx, row)
    await putRoles(app, tx, row.id, roles)
    if (invitation !== undefined) await saveNewInvitation(tx, invitation)
    noteDetail(`${kind} ${name}, role ${role}${describeRoles(roles)}`)
    return created
  })
}

function alreadyExists(name: string): Error {
  return fault('conflict', {
    message: `The user "${name}" already exists.`,
    hint: `Use another name, or run \`windlass invite ${name} --again\` to let this user set a new password.`,
  })
}

/** Returns a user by name or id. Throws `not-found`. */
export async function requireUser(app: App, query: Query, name: string): Promise<UserRow> {
  const row = await findUser(query, app.accountId, name)
  if (row === undefined)
    throw fault('not-found', { message: `The user "${name}" does not exist.`, hint: 'List them with `windlass get users`.' })
  return row
}

export async function showUser(app: App, row: UserRow, query: Query = app.store.query): Promise<User> {
  const [shown] = await toUsers(app, [row], query)
  return shown ?? toUser(row, {})
}

export async function listUserPage(app: App, filter: Omit<UserFilter, 'accountId'>): Promise<User[]> {
  const rows = await listUsers(app.store.query, { accountId: app.accountId, ...filter })
  return toUsers(app, rows, app.store.query)
}

async function toUsers(app: App, rows: readonly UserRow[], query: Query): Promise<User[]> {
  const ids = rows.map(({ id }) => id)
  const roles = await readPlaceRoles(query, ids)
  const teams = Map.groupBy(await listTeamsOfUsers(query, ids), (team) => team.user_id)
  const issuer = app.oidc?.settings.issuer
  const identities = issuer === undefined ? [] : await listIdentities(query, ids)
  const subjects = new Map(identities.filter((one) => one.issuer === issuer).map((one) => [one.user_id, one.subject]))
  return rows.map((row) => toUser(row, { roles: roles.get(row.id), teams: teams.get(row.id), subject: subjects.get(row.id) }))
}

interface OfUser {
  readonly roles?: PlaceRoles | undefined
  readonly teams?: readonly TeamOfUser[] | undefined
  /** Id at the provider of the server. */
  readonly subject?: string | undefined
}

function toUser(row: UserRow, { roles = NO_ROLES, teams = [], subject }: OfUser): User {
  const isInvited = row.kind === 'user' && row.password === null && subject === undefined && row.signed_in_at === null
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    role: row.role,
    ...roles,
    teams: teams.map(({ name }) => name),
    state: row.disabled_at !== null ? 'disabled' : isInvited ? 'invited' : 'active',
    createdAt: row.created_at,
    ...defined({ displayName: row.display_name ?? undefined, signedInAt: row.signed_in_at ?? undefined, subject }),
  }
}

/** A user after a change, and the ids of the keys that no longer have the same rights. */
interface Changed<T> {
  readonly user: T
  readonly keys: readonly string[]
}

/**
 * Changes roles, name and state. A disabled user has no sessions. Throws `not-found`, and `conflict` if no admin could sign in any more. The caller must
 * make the authenticator forget the keys.
 */
export async function changeUser(app: App, name: string, change: z.output<typeof UserChange>): Promise<Changed<User>> {
  const now = app.clock.now()
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const before = await requireUser(app, tx.query, name)
    const disabledAt = change.disabled === undefined ? before.disabled_at : change.disabled ? (before.disabled_at ?? now) : null
    const row: UserRow = {
      ...before,
      role: change.role ?? before.role,
      display_name: change.displayName ?? before.display_name,
      disabled_at: disabledAt,
      updated_at: now,
    }
    await updateUser(tx, row.id, row)
    await putRoles(app, tx, row.id, change)
    if (change.subject !== undefined) await linkSubject(app, tx, row, change.subject)
    // Another person may have signed in through the subject that was linked before.
    if (disabledAt !== null || change.subject !== undefined) await endSessionsOf(tx, row.id)
    await requireAdminLeft(app, tx)
    noteDetail(describeChange(before, row, change))
    return { user: await showUser(app, row, tx.query), keys: await listKeyIds(tx.query, row.id) }
  })
}

function describeChange(before: UserRow, after: UserRow, { projects, pipelines, subject }: z.output<typeof UserChange>): string {
  const parts: string[] = []
  if (before.role !== after.role) parts.push(`role ${before.role} to ${after.role}`)
  if ((before.disabled_at === null) !== (after.disabled_at === null))
    parts.push(after.disabled_at === null ? 'enabled' : 'disabled')
  for (const [kind, roles] of Object.entries({ projects, pipelines }))
    if (roles !== undefined) parts.push(describeRoles({ [kind]: roles }).slice(', '.length) || `${kind} none`)
  if (subject !== undefined) parts.push(subject === null ? 'unlinked from the provider' : `linked to the subject ${subject}`)
  return `${after.name}: ${parts.length === 0 ? 'no change of rights' : parts.join(', ')}`
}

/** Deletes a user with keys and sessions. Throws like `changeUser`. */
export async function removeUser(app: App, name: string): Promise<Changed<undefined>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = await requireUser(app, tx.query, name)
    const keys = await listKeyIds(tx.query, row.id)
    await deleteUser(tx, row.id)
    await requireAdminLeft(app, tx)
    noteDetail(`${row.kind} ${row.name}, role ${row.role}`)
    return { user: undefined, keys }
  })
}

interface Grant {
  readonly user: string
  readonly at: RolePlace
  /** Undefined takes the role. */
  readonly role: Role | undefined
  /** True if the caller may see users, and gets the whole user. */
  readonly mayShow?: boolean
}

/**
 * Gives a role in a project or for a pipeline, or takes it. Throws `not-found`, and `conflict` for a role in too many places. The caller must make the
 * authenticator forget the keys.
 */
export async function grantRole(app: App, { user, at, role, mayShow = false }: Grant): Promise<Changed<UserGranted>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = await requireUser(app, tx.query, user)
    const place = await setRole(app, tx, { subjectId: row.id, at, role })
    noteDetail(`${row.name}: ${role ?? 'no role'} ${'project' in at ? `in ${at.project}` : `for the pipeline ${at.pipeline}`}`)
    const granted: UserGranted = {
      name: row.name,
      projects: {},
      pipelines: {},
      ...(role !== undefined && rolesAt(at, place, role)),
    }
    return { user: mayShow ? await showUser(app, row, tx.query) : granted, keys: await listKeyIds(tx.query, row.id) }
  })
}

function rolesAt(at: RolePlace, name: string, role: Role): Pick<UserGranted, 'projects' | 'pipelines'> {
  return 'project' in at ? { projects: { [name]: role } } : { projects: {}, pipelines: { [name]: role } }
}

/** Users and service accounts: their roles, their state, and the keys and sessions that end with it. */
import { defined, fault, newId } from '@windlass/kit'
import type { User, UserChange, UserCreated, UserInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { noteDetail } from '../audit/call.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { findProject } from '../store/account/projects.ts'
import {
  deleteProjectRoles,
  deleteUser,
  endSessionsOf,
  findUser,
  insertUser,
  listKeyIds,
  listProjectRoles,
  listTeamsOfUsers,
  listUsers,
  setProjectRole,
  updateUser,
  type NamedProjectRole,
  type TeamOfUser,
  type UserFilter,
} from '../store/account/users.ts'
import type { UserRow } from '../store/user-schema.ts'
import { listIdentities } from '../store/account/identities.ts'
import type { Query, Tx, Within } from '../store/store.ts'
import { linkSubject } from './oidc/link.ts'
import { newInvitation, saveNewInvitation } from './invitations.ts'
import { requireAdminLeft } from './keys.ts'
import { hashPassword } from './password.ts'

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
 * `conflict` if the name is taken, `not-found` for an unknown project, and `request-invalid` for a service account with a password.
 */
export async function createUser(
  app: App,
  input: z.output<typeof UserInput>,
  within?: Within<UserCreated>,
): Promise<UserCreated> {
  const { kind, name, role, displayName, projects, password } = input
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
    const created: UserCreated = { ...toUser(row, {}), projects, ...defined({ invitation: invitation?.shown }) }
    await within?.(tx, created)
    if ((await findUser(tx.query, app.accountId, name)) !== undefined) throw alreadyExists(name)
    await insertUser(tx, row)
    await putProjectRoles(app, tx, row.id, projects)
    if (invitation !== undefined) await saveNewInvitation(tx, invitation)
    noteDetail(`${kind} ${name}, role ${role}${describeProjects(projects)}`)
    return created
  })
}

function alreadyExists(name: string): Error {
  return fault('conflict', {
    message: `The user "${name}" already exists.`,
    hint: `Use another name, or run \`windlass invite ${name} --again\` to let this user set a new password.`,
  })
}

function describeProjects(projects: Readonly<Record<string, string>>): string {
  const each = Object.entries(projects).map(([project, role]) => `${project}: ${role}`)
  return each.length === 0 ? '' : `, projects ${each.join(', ')}`
}

/** Replaces the roles of a user, service account or team in projects. Throws `not-found` for an unknown project. */
export async function putProjectRoles(
  app: App,
  tx: Tx,
  userId: string,
  roles: z.output<typeof UserInput>['projects'],
): Promise<void> {
  await deleteProjectRoles(tx, { subject_id: userId })
  for (const [name, role] of Object.entries(roles))
    await setProjectRole(tx, { subject_id: userId, project_id: await requireProject(app, tx, name) }, role)
}

async function requireProject(app: App, tx: Tx, name: string): Promise<string> {
  const project = await findProject(tx.query, app.accountId, name)
  if (project === undefined)
    throw fault('not-found', {
      message: `The project "${name}" does not exist.`,
      hint: 'List them with `windlass get projects`.',
    })
  return project.id
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
  const roles = Map.groupBy(await listProjectRoles(query, ids), (role) => role.subject_id)
  const teams = Map.groupBy(await listTeamsOfUsers(query, ids), (team) => team.user_id)
  const issuer = app.oidc?.settings.issuer
  const identities = issuer === undefined ? [] : await listIdentities(query, ids)
  const subjects = new Map(identities.filter((one) => one.issuer === issuer).map((one) => [one.user_id, one.subject]))
  return rows.map((row) => toUser(row, { roles: roles.get(row.id), teams: teams.get(row.id), subject: subjects.get(row.id) }))
}

interface OfUser {
  readonly roles?: readonly NamedProjectRole[] | undefined
  readonly teams?: readonly TeamOfUser[] | undefined
  /** Id at the provider of the server. */
  readonly subject?: string | undefined
}

function toUser(row: UserRow, { roles = [], teams = [], subject }: OfUser): User {
  const isInvited = row.kind === 'user' && row.password === null && subject === undefined
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    role: row.role,
    projects: Object.fromEntries(roles.map(({ name, role }) => [name, role])),
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
    if (change.projects !== undefined) await putProjectRoles(app, tx, row.id, change.projects)
    if (change.subject !== undefined) await linkSubject(app, tx, row, change.subject)
    // Another person may have signed in through the subject that was linked before.
    if (disabledAt !== null || change.subject !== undefined) await endSessionsOf(tx, row.id)
    await requireAdminLeft(app, tx)
    noteDetail(describeChange(before, row, change))
    return { user: await showUser(app, row, tx.query), keys: await listKeyIds(tx.query, row.id) }
  })
}

function describeChange(before: UserRow, after: UserRow, { projects, subject }: z.output<typeof UserChange>): string {
  const parts: string[] = []
  if (before.role !== after.role) parts.push(`role ${before.role} to ${after.role}`)
  if ((before.disabled_at === null) !== (after.disabled_at === null))
    parts.push(after.disabled_at === null ? 'enabled' : 'disabled')
  if (projects !== undefined) parts.push(`projects ${describeProjects(projects).slice(', projects '.length) || 'none'}`)
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
  readonly project: string
  /** Undefined takes the role. */
  readonly role: User['projects'][string] | undefined
}

/** Gives a role in a project, or takes it. Throws `not-found`. The caller must make the authenticator forget the keys. */
export async function grantProjectRole(app: App, { user, project, role }: Grant): Promise<Changed<User>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = await requireUser(app, tx.query, user)
    const projectId = await requireProject(app, tx, project)
    await setProjectRole(tx, { subject_id: row.id, project_id: projectId }, role)
    noteDetail(`${row.name}: ${role ?? 'no role'} in ${project}`)
    return { user: await showUser(app, row, tx.query), keys: await listKeyIds(tx.query, row.id) }
  })
}

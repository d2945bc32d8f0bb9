/** Finds out what a key or a signed-in user may do: the roles of the owner and of the owner's teams, lowered to the role of the key. */
import { higherRole, lowerRole, toRole, type InstallationRole, type Owner, type Role } from '@windlass/protocol'
import { findApiKey } from '../../store/access/api-keys.ts'
import { listTeamsOf } from '../../store/access/teams.ts'
import { listPipelineRoles, listProjectRoles } from '../../store/access/roles.ts'
import { findUser } from '../../store/access/users.ts'
import type { ApiKeyRow, UserRow } from '../../store/schema/user-schema.ts'
import type { Query } from '../../store/store.ts'
import type { KeyActor } from '../actor.ts'
import { readScopes } from './key-scopes.ts'

export function toOwner({ id, name, kind }: Pick<UserRow, 'id' | 'name' | 'kind'>): Owner {
  return { id, name, kind }
}

/** Returns the actor of a key; undefined if it has ended with its owner. The caller checks the secret and the end of the key. */
export async function keyActor(query: Query, row: ApiKeyRow): Promise<KeyActor | undefined> {
  const { id, account_id: accountId, name } = row
  const limits = { scopes: readScopes(row), expiresAt: row.expires_at ?? undefined }
  const role = toRole(row.role)
  if (row.user_id === null) return { kind: 'key', id, accountId, name, role, ...limits }
  const owner = await findUser(query, accountId, row.user_id)
  if (owner === undefined || owner.disabled_at !== null) return undefined
  const { isFull, ...roles } = await rolesOf(query, owner, role)
  return {
    kind: 'key',
    id,
    accountId,
    name,
    owner: toOwner(owner),
    ...roles,
    ...limits,
    isFull: isFull && limits.scopes === undefined,
  }
}

/** Finds the actor of a key by its id. */
export async function findKeyActor(query: Query, id: string): Promise<KeyActor | undefined> {
  const row = await findApiKey(query, id)
  return row === undefined ? undefined : keyActor(query, row)
}

/** Returns the actor of a user who has signed in with a password; undefined if the user does not exist or is disabled. */
export async function findUserActor(query: Query, accountId: string, userId: string): Promise<KeyActor | undefined> {
  const user = await findUser(query, accountId, userId)
  if (user === undefined || user.disabled_at !== null || user.kind !== 'user') return undefined
  const { id, name } = user
  return { kind: 'key', id, accountId, name, isUser: true, owner: toOwner(user), ...(await rolesOf(query, user, 'admin')) }
}

interface Roles {
  readonly role: InstallationRole
  readonly projects: ReadonlyMap<string, Role>
  readonly pipelines: ReadonlyMap<string, Role>
  readonly isFull: boolean
}

async function rolesOf(query: Query, user: UserRow, limit: Role): Promise<Roles> {
  const teams = await listTeamsOf(query, user.id)
  const subjects = [user.id, ...teams.map(({ id }) => id)]
  const role = teams.reduce<InstallationRole>((highest, team) => higherRole(highest, team.role), user.role)
  const projects = highestRoles((await listProjectRoles(query, subjects)).map((row) => [row.project_id, row.role]))
  const pipelines = highestRoles((await listPipelineRoles(query, subjects)).map((row) => [row.pipeline_id, row.role]))
  const lower = (roles: ReadonlyMap<string, Role>): ReadonlyMap<string, Role> =>
    new Map([...roles].map(([id, one]) => [id, lowerRole(one, limit)]))
  const held = [role, ...projects.values(), ...pipelines.values()]
  return {
    role: lowerRole(role, limit),
    projects: lower(projects),
    pipelines: lower(pipelines),
    isFull: held.every((one) => lowerRole(one, limit) === one),
  }
}

/** Returns the highest role of each id. */
function highestRoles(roles: readonly (readonly [string, Role])[]): Map<string, Role> {
  const highest = new Map<string, Role>()
  for (const [id, role] of roles) highest.set(id, higherRole(highest.get(id) ?? role, role))
  return highest
}

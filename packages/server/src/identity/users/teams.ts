/** Teams: roles that their members have in addition to their own. */
import { defined, fault, newId } from '@windlass/kit'
import type { Team, TeamChange, TeamInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import {
  deleteTeam,
  findTeam,
  listKeyIdsOfTeam,
  listMembers,
  listTeams,
  saveMembers,
  saveTeam,
  setMember,
  type NamedMember,
} from '../../store/access/teams.ts'
import { listKeyIds } from '../../store/access/users.ts'
import type { TeamRow } from '../../store/schema/user-schema.ts'
import type { Query, Tx, Within } from '../../store/store.ts'
import { describeRoles, NO_ROLES, putRoles, readPlaceRoles, type PlaceRoles } from '../roles.ts'
import { requireUser } from './users.ts'

/** A team after a change, and the ids of the keys that no longer have the same rights. The caller must make the authenticator forget them. */
interface ChangedTeam<T> {
  readonly team: T
  readonly keys: readonly string[]
}

type NewTeam = z.output<typeof TeamInput>

/**
 * Creates a team. `within` runs in the same transaction, before the name is checked. Throws `conflict` if the name is taken, and `not-found` for an unknown project,
 * pipeline or member.
 */
export async function createTeam(app: App, input: NewTeam, within?: Within<Team>): Promise<ChangedTeam<Team>> {
  const now = app.clock.now()
  const { name, role, projects, pipelines, members } = input
  const roles = { projects, pipelines }
  const row = { id: newId(now), account_id: app.accountId, name, role, created_at: now, updated_at: now }
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const created: Team = { ...toTeam(row, roles, []), members: [...new Set(members)].toSorted() }
    await within?.(tx, created)
    if ((await findTeam(tx.query, app.accountId, name)) !== undefined)
      throw fault('conflict', {
        message: `The team "${name}" already exists.`,
        hint: 'Use another name, or change the existing team.',
      })
    await saveTeam(tx, row)
    await putRoles(app, tx, row.id, roles)
    await putMembers(app, tx, row.id, members)
    noteDetail(describe(created))
    return { team: created, keys: await listKeyIdsOfTeam(tx.query, row.id) }
  })
}

function describe({ name, role, projects, pipelines, members }: Team): string {
  const roles = describeRoles({ projects, pipelines }) || ', projects none'
  return `team ${name}, role ${role}${roles}, members ${members.join(', ') || 'none'}`
}

async function putMembers(app: App, tx: Tx, teamId: string, names: readonly string[]): Promise<void> {
  const ids = new Set<string>()
  for (const name of names) ids.add((await requireUser(app, tx.query, name)).id)
  await saveMembers(tx, teamId, [...ids])
}

/** Returns a team by name or id. Throws `not-found`. */
export async function requireTeam(app: App, query: Query, name: string): Promise<TeamRow> {
  const row = await findTeam(query, app.accountId, name)
  if (row === undefined)
    throw fault('not-found', { message: `The team "${name}" does not exist.`, hint: 'List them with `windlass get teams`.' })
  return row
}

export async function showTeam(row: TeamRow, query: Query): Promise<Team> {
  const roles = await readPlaceRoles(query, [row.id])
  return toTeam(row, roles.get(row.id), await listMembers(query, [row.id]))
}

export async function listTeamPage(app: App, range: { after: string | undefined; limit: number }): Promise<Team[]> {
  const { query } = app.store
  const rows = await listTeams(query, { accountId: app.accountId, ...range })
  const ids = rows.map(({ id }) => id)
  const roles = await readPlaceRoles(query, ids)
  const members = Map.groupBy(await listMembers(query, ids), (member) => member.team_id)
  return rows.map((row) => toTeam(row, roles.get(row.id), members.get(row.id) ?? []))
}

function toTeam(row: TeamRow, roles: PlaceRoles | undefined, members: readonly NamedMember[]): Team {
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    ...(roles ?? NO_ROLES),
    members: members.map(({ name }) => name),
    createdAt: row.created_at,
  }
}

/** Changes the roles and members of a team. Throws `not-found`. */
export async function changeTeam(app: App, name: string, change: z.output<typeof TeamChange>): Promise<ChangedTeam<Team>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const before = await requireTeam(app, tx.query, name)
    const earlier = await listKeyIdsOfTeam(tx.query, before.id)
    const row = { ...before, updated_at: app.clock.now(), ...defined({ role: change.role }) }
    await saveTeam(tx, row)
    await putRoles(app, tx, row.id, change)
    if (change.members !== undefined) await putMembers(app, tx, row.id, change.members)
    const team = await showTeam(row, tx.query)
    noteDetail(describe(team))
    return { team, keys: [...earlier, ...(await listKeyIdsOfTeam(tx.query, row.id))] }
  })
}

interface Membership {
  readonly team: string
  readonly user: string
  readonly isMember: boolean
}

/** Adds or removes a member. Throws `not-found`. */
export async function changeMember(app: App, { team: name, user, isMember }: Membership): Promise<ChangedTeam<Team>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = await requireTeam(app, tx.query, name)
    const { id } = await requireUser(app, tx.query, user)
    await setMember(tx, { team_id: row.id, user_id: id }, isMember)
    return { team: await showTeam(row, tx.query), keys: await listKeyIds(tx.query, id) }
  })
}

/** Deletes a team. Its members lose its roles. Throws `not-found`. */
export async function removeTeam(app: App, name: string): Promise<ChangedTeam<undefined>> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const row = await requireTeam(app, tx.query, name)
    const keys = await listKeyIdsOfTeam(tx.query, row.id)
    noteDetail(describe(await showTeam(row, tx.query)))
    await deleteTeam(tx, row.id)
    return { team: undefined, keys }
  })
}

import { prepared } from '../database/prepared.ts'
import { deleteRolesOf } from './roles.ts'
import type { TeamMemberRow, TeamRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

/** Finds a team by id or name. */
export async function findTeam(query: Query, accountId: string, name: string): Promise<TeamRow | undefined> {
  return query
    .selectFrom('team')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .executeTakeFirst()
}

/** Lists teams by name. */
export async function listTeams(
  query: Query,
  { accountId, after, limit }: { accountId: string; after: string | undefined; limit: number },
): Promise<TeamRow[]> {
  let select = query.selectFrom('team').selectAll().where('account_id', '=', accountId)
  if (after !== undefined) select = select.where('name', '>', after)
  return select.orderBy('name').limit(limit).execute()
}

/** Inserts or replaces a team by id. */
export async function saveTeam(tx: Tx, team: TeamRow): Promise<void> {
  await tx.query
    .insertInto('team')
    .values(team)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(team))
    .execute()
}

/** Deletes a team with its memberships and its roles in projects and for pipelines. */
export async function deleteTeam(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('team_member').where('team_id', '=', id).execute()
  await deleteRolesOf(tx, id)
  await tx.query.deleteFrom('team').where('id', '=', id).execute()
}

const listOfUser = prepared((query: Query, userId: string) =>
  query
    .selectFrom('team_member')
    .innerJoin('team', 'team.id', 'team_member.team_id')
    .select(['team.id', 'team.name', 'team.role'])
    .where('team_member.user_id', '=', userId),
)

/** Lists the teams of a user. */
export async function listTeamsOf(query: Query, userId: string): Promise<Pick<TeamRow, 'id' | 'name' | 'role'>[]> {
  return listOfUser(query, userId)
}

export interface NamedMember extends TeamMemberRow {
  readonly name: string
}

/** Lists the members of teams by name. */
export async function listMembers(query: Query, teamIds: readonly string[]): Promise<NamedMember[]> {
  if (teamIds.length === 0) return []
  return query
    .selectFrom('team_member')
    .innerJoin('user_account', 'user_account.id', 'team_member.user_id')
    .selectAll('team_member')
    .select('user_account.name')
    .where('team_member.team_id', 'in', teamIds)
    .orderBy('user_account.name')
    .execute()
}

/** Replaces the members of a team. */
export async function saveMembers(tx: Tx, teamId: string, userIds: readonly string[]): Promise<void> {
  await tx.query.deleteFrom('team_member').where('team_id', '=', teamId).execute()
  for (const userId of userIds) await tx.query.insertInto('team_member').values({ team_id: teamId, user_id: userId }).execute()
}

/** Adds or removes a member. Does nothing if that is already so. */
export async function setMember(tx: Tx, member: TeamMemberRow, isMember: boolean): Promise<void> {
  if (isMember)
    await tx.query
      .insertInto('team_member')
      .values(member)
      .onConflict((conflict) => conflict.columns(['team_id', 'user_id']).doNothing())
      .execute()
  else
    await tx.query.deleteFrom('team_member').where('team_id', '=', member.team_id).where('user_id', '=', member.user_id).execute()
}

/** Returns the ids of the keys of all members of a team. */
export async function listKeyIdsOfTeam(query: Query, teamId: string): Promise<string[]> {
  const rows = await query
    .selectFrom('api_key')
    .innerJoin('team_member', 'team_member.user_id', 'api_key.user_id')
    .select('api_key.id')
    .where('team_member.team_id', '=', teamId)
    .execute()
  return rows.map(({ id }) => id)
}

/** Teams for public clients. */
import { fault } from '@windlass/kit'
import { TeamInput, UserName } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import { changeMember, createTeam, requireTeam } from '../../../identity/users/teams.ts'
import { listMembers, listTeams } from '../../../store/access/teams.ts'
import type { Query } from '../../../store/store.ts'
import type { TeamRow } from '../../../store/schema/user-schema.ts'
import { ok, requireShape, route, type Route } from '../../route.ts'

const Id = z.string().min(1).max(100)
const ByMember = z.object({ teamId: Id, userId: Id })
const MAX_TEAMS = 1_000
const MAX_MEMBERS = 1_000

const TeamBody = z.object({
  name: UserName,
  tags: z.array(z.string().max(300)).max(1_000).default([]),
  /** Ids or names. */
  users: z.array(Id).max(MAX_MEMBERS).default([]),
})

const PublicTeam = z.object({
  _id: z.string(),
  name: z.string(),
  type: z.literal('default'),
  account: z.string(),
  tags: z.array(z.string()),
  users: z.array(z.object({ _id: z.string(), userName: z.string() })),
})

/** Teams have no tags, so this field is empty. */
async function toPublicTeams(app: App, query: Query, teams: readonly TeamRow[]): Promise<z.output<typeof PublicTeam>[]> {
  const ids = teams.map(({ id }) => id)
  const members = Map.groupBy(await listMembers(query, ids), (member) => member.team_id)
  return teams.map(({ id, name }) => ({
    _id: id,
    name,
    type: 'default',
    account: app.accountId,
    tags: [],
    users: (members.get(id) ?? []).map((member) => ({ _id: member.user_id, userName: member.name })),
  }))
}

export function publicTeamRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    route('GET', '/api/team', {
      summary: 'List teams by name',
      allow: 'see-users',
      scope: 'user:read',
      replies: { 200: z.array(PublicTeam) },
      async handle() {
        const { query } = app.store
        return ok(
          await toPublicTeams(
            app,
            query,
            await listTeams(query, { accountId: app.accountId, after: undefined, limit: MAX_TEAMS }),
          ),
        )
      },
    }),
    route('POST', '/api/team', {
      summary: 'Create a team without roles',
      allow: 'manage-users',
      scope: 'user:write',
      body: TeamBody,
      replies: { 200: z.object({ _id: z.string(), name: z.string() }) },
      async handle({ body: { name, tags, users }, settle }) {
        if (tags.length > 0) throw fault('request-invalid', { message: 'Teams have no tags.', hint: 'Leave out --tag.' })
        const input = requireShape(TeamInput, { name, members: users })
        const { team, keys } = await createTeam(app, input, (tx, { id }) => settle(tx, ok({ _id: id, name })))
        for (const key of keys) authenticator.forget(key)
        return ok({ _id: team.id, name })
      },
    }),
    memberRoute(app, authenticator, true),
    memberRoute(app, authenticator, false),
  ]
}

function memberRoute(app: App, authenticator: Authenticator, isMember: boolean): Route {
  return route('PUT', `/api/team/{teamId}/{userId}/${isMember ? 'assignUserToTeam' : 'deleteUserFromTeam'}`, {
    summary: isMember ? 'Add a member to a team' : 'Remove a member from a team',
    allow: 'manage-users',
    scope: 'user:write',
    params: ByMember,
    replies: { 200: PublicTeam },
    async handle({ params: { teamId, userId } }) {
      const { keys } = await changeMember(app, { team: teamId, user: userId, isMember })
      for (const key of keys) authenticator.forget(key)
      const { query } = app.store
      const [team] = await toPublicTeams(app, query, [await requireTeam(app, query, teamId)])
      return ok(team)
    },
  })
}

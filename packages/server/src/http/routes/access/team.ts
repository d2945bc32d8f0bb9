/** Routes of teams. */
import { page, PageQuery, Team, TeamChange, TeamInput } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { present } from '../../../builds/lifecycle/view.ts'
import type { Authenticator } from '../../../identity/authenticate.ts'
import {
  changeMember,
  changeTeam,
  createTeam,
  listTeamPage,
  removeTeam,
  requireTeam,
  showTeam,
} from '../../../identity/users/teams.ts'
import { created, done, ok, route, type Route } from '../../route.ts'

/** The name or id of a team. */
const ByTeam = z.object({ name: z.string().min(1).max(100) })
const ByMember = ByTeam.extend({ user: z.string().min(1).max(100) })

export function teamRoutes(app: App, authenticator: Authenticator): Route[] {
  const forget = (keys: readonly string[]): void => {
    for (const key of keys) authenticator.forget(key)
  }
  return [
    route('GET', '/v1/teams', {
      summary: 'List teams by name',
      allow: 'see-users',
      scope: 'user:read',
      query: PageQuery,
      replies: { 200: page(Team) },
      async handle({ query: { cursor, limit } }) {
        const items = await listTeamPage(app, { after: cursor, limit })
        return ok({ items, ...present({ next: items.length === limit ? items.at(-1)?.name : undefined }) })
      },
    }),
    route('POST', '/v1/teams', {
      summary: 'Create a team',
      allow: 'manage-users',
      scope: 'user:write',
      body: TeamInput,
      replies: { 201: Team },
      async handle({ body, settle }) {
        const { team, keys } = await createTeam(app, body, (tx, value) => settle(tx, created(value)))
        forget(keys)
        return created(team)
      },
    }),
    route('GET', '/v1/teams/{name}', {
      summary: 'Show a team with its members',
      allow: 'see-users',
      scope: 'user:read',
      params: ByTeam,
      replies: { 200: Team },
      handle: async ({ params }) => ok(await showTeam(await requireTeam(app, app.store.query, params.name), app.store.query)),
    }),
    route('PATCH', '/v1/teams/{name}', {
      summary: 'Change the roles or the members of a team',
      allow: 'manage-users',
      scope: 'user:write',
      params: ByTeam,
      body: TeamChange,
      replies: { 200: Team },
      async handle({ params, body }) {
        const { team, keys } = await changeTeam(app, params.name, body)
        forget(keys)
        return ok(team)
      },
    }),
    route('DELETE', '/v1/teams/{name}', {
      summary: 'Delete a team; its members lose its roles',
      allow: 'manage-users',
      scope: 'user:write',
      params: ByTeam,
      replies: { 204: 'nothing' },
      async handle({ params }) {
        forget((await removeTeam(app, params.name)).keys)
        return done
      },
    }),
    memberRoute(app, 'PUT', forget),
    memberRoute(app, 'DELETE', forget),
  ]
}

function memberRoute(app: App, method: 'PUT' | 'DELETE', forget: (keys: readonly string[]) => void): Route {
  const isMember = method === 'PUT'
  return route(method, '/v1/teams/{name}/members/{user}', {
    summary: isMember ? 'Add a member to a team' : 'Remove a member from a team',
    allow: 'manage-users',
    scope: 'user:write',
    params: ByMember,
    replies: { 200: Team },
    async handle({ params: { name, user } }) {
      const { team, keys } = await changeMember(app, { team: name, user, isMember })
      forget(keys)
      return ok(team)
    },
  })
}

/** Lists of resources of Codefresh that Windlass does not have: an account has none of them. Calls that would create one are not supported. */
import { z } from 'zod'
import { ok, route, type Route } from '../route.ts'

const LISTS: Readonly<Record<string, string>> = {
  '/api/team': 'teams',
  '/api/helm/boards': 'Helm boards',
  '/api/helm/repos': 'Helm repositories',
  '/api/compositions': 'stored compositions, which are contexts of type yaml',
  '/api/environments': 'environments of compositions',
  '/api/hermes/triggers': 'triggers outside of pipelines',
  '/api/hermes/events': 'events of such triggers',
  '/api/hermes/types': 'types of such events',
}

export function absentRoutes(): Route[] {
  return Object.entries(LISTS).map(([path, what]) =>
    route('GET', path, {
      summary: `List ${what}: Windlass has none`,
      allow: 'signed-in',
      scope: 'none',
      replies: { 200: z.array(z.unknown()) },
      handle: async () => ok([]),
    }),
  )
}

/** Lists of resources of Codefresh that Windlass does not have: an account has none of them. Calls that would create one are not supported. */
import type { Scope } from '@windlass/protocol'
import { z } from 'zod'
import { ok, route, type Route } from '../route.ts'

interface Absent {
  readonly path: string
  readonly what: string
  readonly scope: Scope
}

const LISTS: readonly Absent[] = [
  { path: '/api/helm/boards', what: 'Helm boards', scope: 'cluster:read' },
  { path: '/api/helm/repos', what: 'Helm repositories', scope: 'context:read' },
  { path: '/api/compositions', what: 'stored compositions, which are contexts of type yaml', scope: 'context:read' },
  { path: '/api/environments', what: 'environments of compositions', scope: 'build:read' },
]

export function absentRoutes(): Route[] {
  return LISTS.map(({ path, what, scope }) =>
    route('GET', path, {
      summary: `List ${what}: Windlass has none`,
      allow: 'signed-in',
      scope,
      replies: { 200: z.array(z.unknown()) },
      handle: async () => ok([]),
    }),
  )
}

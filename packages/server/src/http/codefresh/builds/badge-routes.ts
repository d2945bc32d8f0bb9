/** Badges at the addresses that pages with badges of Codefresh have. */
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { readBadge } from '../../../links/badge.ts'
import { route, type Route } from '../../route.ts'
import { toAnswer } from '../../routes/access/link.ts'

const Path = z.object({ account: z.string().max(200), name: z.string().min(1).max(160) })
/** `type` selects a drawing at Codefresh; there is one here. */
const Query = z.object({ branch: z.string().max(500).optional(), key: z.string().max(300).optional() })

export function badgeRoutes(app: App): Route[] {
  return [
    route('GET', '/api/badges/pipeline/{account}/{name}', {
      summary: 'Badge of a pipeline',
      allow: 'public',
      scope: 'none',
      params: Path,
      query: Query,
      replies: { 200: 'text', 404: 'text' },
      handle: async ({ params, query: { branch, key } }) =>
        toAnswer(await readBadge(app, { pipeline: params.name, branch, token: key })),
    }),
  ]
}

/** Search over the names of resources, and over builds by number and commit. */
import { z } from 'zod'
import { BuildRef } from './lists.ts'

export const SEARCH_KINDS = ['build', 'pipeline', 'project', 'runtime', 'context'] as const

/** Query of `GET /v1/search`. `q` is a part of a name, the start of a commit, or the number of a build, with or without `#`. */
export const SearchQuery = z.object({
  q: z.string().trim().min(1).max(200),
  limit: z.coerce.number().int().min(1).max(50).default(12),
})

/** What was found: builds first, then names, the closest ones first. */
export const SearchResults = z.object({
  items: z.array(
    z.object({
      kind: z.enum(SEARCH_KINDS),
      id: z.string(),
      /** Name of the resource; for a build its pipeline, or its number if it has none. */
      name: z.string(),
      build: BuildRef.optional(),
    }),
  ),
})
export type SearchResults = z.infer<typeof SearchResults>

/** Search over builds and the names of resources, as far as the caller may see them. */
import type { SearchQuery, SearchResults } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { hasScope, mayDo, placesOf, type Actor } from '../../identity/actor.ts'
import { listBuilds } from '../../store/builds/lists/build-lists.ts'
import type { BuildFilter } from '../../store/builds/lists/build-filter.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { findHiddenRuntimes } from '../../runtimes/access.ts'
import { findNames } from '../../store/search.ts'
import { toRef } from './limit-use.ts'
import { NO_PLACE } from '../../store/places.ts'

type Found = SearchResults['items'][number]

/** Builds with the commit. */
const MAX_OF_COMMIT = 5

/** Returns the closest matches: builds by number or commit, then pipelines, projects, runtimes and contexts by name. */
export async function search(app: App, actor: Actor, { q, limit }: z.output<typeof SearchQuery>): Promise<SearchResults> {
  const items: Found[] = await findBuildsBy(app, actor, q)
  for (const kind of ['pipeline', 'project', 'runtime', 'context'] as const)
    if (items.length < limit) items.push(...(await findNamed(app, actor, { kind, text: q, limit: limit - items.length })))
  return { items: items.slice(0, limit) }
}

async function findBuildsBy(app: App, actor: Actor, text: string): Promise<Found[]> {
  const seen = { accountId: app.accountId, places: placesOf(actor, 'see-builds') }
  const digits = /^#?(\d{1,15})$/.exec(text)?.[1]
  const filters: BuildFilter[] = [
    ...(digits === undefined ? [] : [{ ...seen, number: Number(digits) }]),
    ...(/^[0-9a-f]{4,64}$/i.test(text) ? [{ ...seen, revision: text.toLowerCase() }] : []),
  ]
  const rows: BuildRow[] = []
  for (const filter of filters) rows.push(...(await listBuilds(app.store.query, filter, { limit: MAX_OF_COMMIT })).rows)
  return [...new Map(rows.map((row) => [row.id, row])).values()].map((row) => ({
    kind: 'build',
    id: row.id,
    name: row.pipeline ?? `#${row.number}`,
    build: toRef(row),
  }))
}

const SEEN = {
  pipeline: { right: 'see-pipelines', scope: 'pipeline:read' },
  project: { right: 'see-pipelines', scope: 'pipeline:read' },
  runtime: { right: 'see-runners', scope: 'runtime:read' },
  context: { right: 'see-contexts', scope: 'context:read' },
} as const

interface Asked {
  readonly kind: keyof typeof SEEN
  readonly text: string
  readonly limit: number
}

async function findNamed(app: App, actor: Actor, { kind, text, limit }: Asked): Promise<Found[]> {
  const { right, scope } = SEEN[kind]
  const places = placesOf(actor, right)
  if (places === undefined ? !mayDo(actor, { right, scope }, NO_PLACE) : !hasScope(actor, scope)) return []
  const hidden = kind === 'runtime' ? await findHiddenRuntimes(app, actor) : new Set<string>()
  const found = await findNames(app.store.query, kind, { accountId: app.accountId, text, places, limit: limit + hidden.size })
  const seen = found.filter(({ id }) => !hidden.has(id)).slice(0, limit)
  return seen.map(({ id, name }) => ({ kind, id, name }))
}

/** Builds that belong to a build. */
import { MAX_RELATED, type Build, type RelatedBuilds } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findBuilds, findLater, listDescendants, listEarlier, type BranchBuild } from '../../store/builds/relations.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import { present } from '../lifecycle/present.ts'
import { toBuild } from '../lifecycle/view.ts'
import type { Seen } from './list-builds.ts'

/** Builds of a branch that are examined. */
const MAX_EARLIER = 1000

/** Returns the builds that belong to a build, as far as the caller may see them. */
export async function relatedBuilds(app: App, build: BuildRow, seen: Seen): Promise<RelatedBuilds> {
  const { query } = app.store
  const filter = { accountId: app.accountId, places: seen }
  const limit = MAX_RELATED
  const children = await listDescendants(query, filter, { column: 'parent_id', id: build.id, limit })
  const restarts = await listDescendants(query, filter, { column: 'restart_of', id: build.id, limit })
  const earlier = build.pipeline_id === null ? [] : await listEarlier(query, build, MAX_EARLIER)
  const next = build.pipeline_id === null ? undefined : (await findLater(query, build))?.id
  const { lastGreen, red } = historyOf(build, earlier)
  const ids = {
    parent: build.parent_id,
    restartOf: build.restart_of,
    previous: earlier[0]?.id,
    next,
    lastGreen: lastGreen?.id,
    firstRed: red[0]?.id,
  }
  const wanted = Object.values(ids).filter((id) => typeof id === 'string')
  const found = new Map((await findBuilds(query, filter, [...new Set(wanted)])).map((row) => [row.id, toBuild(row)]))
  const related: Partial<Record<keyof typeof ids, Build | undefined>> = {}
  for (const [name, id] of Object.entries(ids) as [keyof typeof ids, string | null | undefined][])
    related[name] = typeof id === 'string' ? found.get(id) : undefined
  return {
    ...present(related),
    children: children.map((row) => toBuild(row)),
    restarts: restarts.map((row) => toBuild(row)),
    ...(red.length > 0 && { red: { builds: red.length, commits: new Set(red.map(({ revision }) => revision)).size } }),
  }
}

interface History {
  readonly lastGreen: BranchBuild | undefined
  /** From the first failed build since the last successful one to this one, oldest first. Empty unless this one failed. */
  readonly red: readonly BranchBuild[]
}

function historyOf(build: BuildRow, earlier: readonly BranchBuild[]): History {
  const green = earlier.findIndex(({ status }) => status === 'success')
  const lastGreen = green < 0 ? undefined : earlier[green]
  if (build.status !== 'error') return { lastGreen, red: [] }
  const since = [build, ...(green < 0 ? earlier : earlier.slice(0, green))].toReversed()
  return { lastGreen, red: since.slice(since.findIndex(({ status }) => status === 'error')) }
}

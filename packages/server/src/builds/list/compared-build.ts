import { fault } from '@windlass/kit'
import type { App } from '../../app.ts'
import { findBuilds, listEarlier } from '../../store/builds/relations.ts'
import type { BuildRow } from '../../store/schema/schema.ts'
import type { Seen } from './list-builds.ts'

/** Builds of a branch that are examined for the last successful one. */
const MAX_EARLIER = 1000

/**
 * Returns the build with which another one is compared: the named one, or the last successful one of the branch before it. Throws `not-found`, also for a
 * build that the caller may not see.
 */
export async function findComparedBuild(
  app: App,
  build: BuildRow,
  { id, seen }: { readonly id: string | undefined; readonly seen: Seen },
): Promise<BuildRow> {
  const { query } = app.store
  const other = id ?? (await lastGreen(app, build))
  const [row] = other === undefined ? [] : await findBuilds(query, { accountId: app.accountId, places: seen }, [other])
  if (row !== undefined) return row
  if (id !== undefined) throw fault('not-found', { message: `Build ${id} does not exist.` })
  throw fault('not-found', {
    message: `Before build ${build.id}, its pipeline has no successful build of the same branch.`,
    hint: 'Name the build to compare with.',
  })
}

async function lastGreen({ store }: App, build: BuildRow): Promise<string | undefined> {
  if (build.pipeline_id === null) return undefined
  return (await listEarlier(store.query, build, MAX_EARLIER)).find(({ status }) => status === 'success')?.id
}

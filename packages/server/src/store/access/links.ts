import type { BuildStatus } from '@windlass/plan'
import type { SharedLinkRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'
import { withinPlaces, type Places } from '../places.ts'

export async function insertLink(tx: Tx, link: SharedLinkRow): Promise<void> {
  await tx.query.insertInto('shared_link').values(link).execute()
}

export async function findLink(query: Query, accountId: string, id: string): Promise<SharedLinkRow | undefined> {
  return query.selectFrom('shared_link').selectAll().where('account_id', '=', accountId).where('id', '=', id).executeTakeFirst()
}

/** Returns false if the link does not exist. */
export async function deleteLink(tx: Tx, id: string): Promise<boolean> {
  return (await tx.query.deleteFrom('shared_link').where('id', '=', id).executeTakeFirstOrThrow()).numDeletedRows > 0n
}

export async function countLinks(
  query: Query,
  by: { readonly build_id: string } | { readonly pipeline_id: string },
): Promise<number> {
  const select = query.selectFrom('shared_link').select((of) => of.fn.countAll<number>().as('count'))
  const of = 'build_id' in by ? select.where('build_id', '=', by.build_id) : select.where('pipeline_id', '=', by.pipeline_id)
  return Number((await of.executeTakeFirstOrThrow()).count)
}

export interface LinkFilter {
  readonly accountId: string
  /** Undefined for all places. */
  readonly places: Places | undefined
  /** Links that end later. */
  readonly now: number
  readonly after: string | undefined
  readonly limit: number
}

/** A link with the names of what it shows. */
export interface NamedLink extends SharedLinkRow {
  readonly pipeline: string | null
  readonly number: number | null
}

/** Lists links that have not ended, oldest first. */
export async function listLinks(query: Query, { accountId, places, now, after, limit }: LinkFilter): Promise<NamedLink[]> {
  let select = query
    .selectFrom('shared_link')
    .leftJoin('pipeline', 'pipeline.id', 'shared_link.pipeline_id')
    .leftJoin('build', 'build.id', 'shared_link.build_id')
    .selectAll('shared_link')
    .select(['pipeline.name as pipeline', 'build.number'])
    .where('shared_link.account_id', '=', accountId)
    .where((where) => where.or([where('shared_link.expires_at', 'is', null), where('shared_link.expires_at', '>', now)]))
  if (places !== undefined)
    select = select.where(withinPlaces(places, { project: 'shared_link.project_id', pipeline: 'shared_link.pipeline_id' }))
  if (after !== undefined) select = select.where('shared_link.id', '>', after)
  return select.orderBy('shared_link.id').limit(limit).execute()
}

/** Deletes links that have ended, and those to badges of pipelines that do not exist any more. */
export async function deleteOldLinks(tx: Tx, now: number): Promise<void> {
  await tx.query.deleteFrom('shared_link').where('expires_at', '<=', now).execute()
  await tx.query
    .deleteFrom('shared_link')
    .where('kind', '=', 'badge')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('pipeline').select('pipeline.id').whereRef('pipeline.id', '=', 'shared_link.pipeline_id'))),
    )
    .execute()
}

/** Returns the status of the newest build of a pipeline, of one branch if it is given; undefined without a build. */
export async function findLatestStatus(
  query: Query,
  { accountId, pipelineId, branch }: { accountId: string; pipelineId: string; branch: string | undefined },
): Promise<BuildStatus | undefined> {
  let select = query
    .selectFrom('build')
    .select('status')
    .where('account_id', '=', accountId)
    .where('pipeline_id', '=', pipelineId)
  if (branch !== undefined) select = select.where('branch', '=', branch)
  return (await select.orderBy('number', 'desc').limit(1).executeTakeFirst())?.status
}

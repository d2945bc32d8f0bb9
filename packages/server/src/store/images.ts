import type { ImageRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

/** Notes what a step built or pushed; the same name of the same step again replaces what was noted. */
export async function saveImage(tx: Tx, image: ImageRow): Promise<void> {
  const { id: _id, ...news } = image
  await tx.query
    .insertInto('image')
    .values(image)
    .onConflict((conflict) => conflict.columns(['build_id', 'step', 'name']).doUpdateSet(news))
    .execute()
}

/** By its own id, its id at a daemon, a digest, or a name with a tag or digest; of several the newest. */
export async function findImage(query: Query, accountId: string, name: string): Promise<ImageRow | undefined> {
  const [repository = '', digest] = name.split('@')
  return query
    .selectFrom('image')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) =>
      where.or([
        where('id', '=', name),
        where('image_id', '=', name),
        where('digest', '=', name),
        where.and([where('name', '=', repository), where('digest', '=', digest ?? '')]),
        where.and([where('name', '=', nameOf(repository)), where('tags', 'like', `%"${tagOf(repository)}"%`)]),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

function nameOf(reference: string): string {
  const colon = reference.lastIndexOf(':')
  return colon > reference.lastIndexOf('/') ? reference.slice(0, colon) : reference
}

/** `latest` where none is written. Characters that no tag has would mean something else in a pattern. */
function tagOf(reference: string): string {
  const colon = reference.lastIndexOf(':')
  return (colon > reference.lastIndexOf('/') ? reference.slice(colon + 1) : 'latest').replaceAll(/[^A-Za-z0-9._-]/g, '')
}

/** The image of a step of a build; the step may be a hook (`build.on_success`) or a part of the one that made it. */
export async function findImageOfStep(query: Query, buildId: string, step: string): Promise<string | null> {
  const parts = step.split('.')
  const names = parts.map((_, index) => parts.slice(0, parts.length - index).join('.'))
  const rows = await query
    .selectFrom('image')
    .select(['step', 'image_id'])
    .where('build_id', '=', buildId)
    .where('step', 'in', names)
    .orderBy('created_at', 'desc')
    .execute()
  const found = names.map((name) => rows.find((row) => row.step === name)).find((row) => row !== undefined)
  return found?.image_id ?? null
}

export interface ImageFilter {
  readonly accountId: string
  readonly pipelineId?: string | undefined
  readonly buildId?: string | undefined
  readonly name?: string | undefined
  /** Only images with a smaller id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Newest first: ids begin with their time. */
export async function listImages(query: Query, filter: ImageFilter): Promise<ImageRow[]> {
  let select = query.selectFrom('image').selectAll().where('account_id', '=', filter.accountId)
  if (filter.pipelineId !== undefined) select = select.where('pipeline_id', '=', filter.pipelineId)
  if (filter.buildId !== undefined) select = select.where('build_id', '=', filter.buildId)
  if (filter.name !== undefined) select = select.where('name', '=', filter.name)
  if (filter.before !== undefined) select = select.where('id', '<', filter.before)
  return select.orderBy('id', 'desc').limit(filter.limit).execute()
}

/** The latest images of a pipeline's steps whose content is known. */
export async function listKnownImages(query: Query, pipelineId: string, limit: number): Promise<ImageRow[]> {
  return query
    .selectFrom('image')
    .selectAll()
    .where('pipeline_id', '=', pipelineId)
    .where('content_hash', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
}

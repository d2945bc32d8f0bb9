import type { ImageRow } from '../schema/schema.ts'
import { prepared } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'
import { BUILD_PLACE, withinPlaces, type Places } from '../places.ts'

/** Stores an image. A later image with the same name of the same step replaces it. */
export async function saveImage(tx: Tx, image: ImageRow): Promise<void> {
  const { id: _id, ...fields } = image
  await tx.query
    .insertInto('image')
    .values(image)
    .onConflict((conflict) => conflict.columns(['build_id', 'step', 'name']).doUpdateSet(fields))
    .execute()
}

/** Finds the newest image by its id, its id at a daemon, a digest, or a name with a tag or digest. */
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

/** Returns the tag of a reference; `latest` if it has none. Removes characters that are invalid in tags, because they are special in a LIKE pattern. */
function tagOf(reference: string): string {
  const colon = reference.lastIndexOf(':')
  return (colon > reference.lastIndexOf('/') ? reference.slice(colon + 1) : 'latest').replaceAll(/[^A-Za-z0-9._-]/g, '')
}

/** Finds the image of a step. The step may also be a hook (`build.on_success`) or a part of the step that built the image. */
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
  /** Only images of builds of these places. */
  readonly places?: Places | undefined
  readonly name?: string | undefined
  /** Only images with a smaller id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Lists images, newest first; ids start with their time. */
export async function listImages(query: Query, filter: ImageFilter): Promise<ImageRow[]> {
  let select = query.selectFrom('image').selectAll().where('account_id', '=', filter.accountId)
  if (filter.pipelineId !== undefined) select = select.where('pipeline_id', '=', filter.pipelineId)
  if (filter.buildId !== undefined) select = select.where('build_id', '=', filter.buildId)
  const { places } = filter
  if (places !== undefined)
    select = select.where('build_id', 'in', (of) =>
      of.selectFrom('build').select('build.id').where(withinPlaces(places, BUILD_PLACE)),
    )
  if (filter.name !== undefined) select = select.where('name', '=', filter.name)
  if (filter.before !== undefined) select = select.where('id', '<', filter.before)
  return select.orderBy('id', 'desc').limit(filter.limit).execute()
}

const listKnown = prepared((query: Query, pipelineId: string, limit: number) =>
  query
    .selectFrom('image')
    .selectAll()
    .where('pipeline_id', '=', pipelineId)
    .where('content_hash', 'is not', null)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit),
)

/** Lists the latest images of a pipeline that have a content hash. */
export async function listKnownImages(query: Query, pipelineId: string, limit: number): Promise<ImageRow[]> {
  return listKnown(query, pipelineId, limit)
}

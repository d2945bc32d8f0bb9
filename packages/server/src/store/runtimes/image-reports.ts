/** What is known of images. */
import { sql, type RawBuilder } from 'kysely'
import type { ImageReportRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Inserts the row unless there is one with its key. Returns the stored one, locked. */
export async function lockImageReport(tx: Tx, row: ImageReportRow): Promise<ImageReportRow> {
  await tx.query
    .insertInto('image_report')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'name', 'digest', 'source', 'workflow']).doNothing())
    .execute()
  return tx.query
    .selectFrom('image_report')
    .selectAll()
    .where('account_id', '=', row.account_id)
    .where('name', '=', row.name)
    .where('digest', '=', row.digest)
    .where('source', '=', row.source)
    .where('workflow', '=', row.workflow)
    .$call(tx.forUpdate)
    .executeTakeFirstOrThrow()
}

export async function updateImageReport(
  tx: Tx,
  id: string,
  changes: Pick<ImageReportRow, 'revision' | 'tags' | 'facts' | 'reported_at'>,
): Promise<void> {
  await tx.query.updateTable('image_report').set(changes).where('id', '=', id).execute()
}

export async function findImageReport(query: Query, accountId: string, id: string): Promise<ImageReportRow | undefined> {
  return query.selectFrom('image_report').selectAll().where('account_id', '=', accountId).where('id', '=', id).executeTakeFirst()
}

/** The image of a report. With a tag and without a digest: the images that had the tag when they were reported. */
export interface ReportedImage {
  readonly name: string
  readonly tag?: string | undefined
  readonly digest?: string | undefined
}

export interface ImageReportFilter {
  readonly accountId: string
  readonly image?: ReportedImage | undefined
  /** Begin of the hash of a commit. */
  readonly revision?: string | undefined
  /** Only reports with a smaller id. */
  readonly before?: string | undefined
  readonly limit: number
}

/** Lists reports, newest first; ids begin with their time. */
export async function listImageReports(query: Query, filter: ImageReportFilter): Promise<ImageReportRow[]> {
  const { image, revision, before } = filter
  let select = query.selectFrom('image_report').selectAll().where('account_id', '=', filter.accountId)
  if (image !== undefined) select = select.where('name', '=', image.name)
  if (image?.digest !== undefined) select = select.where('digest', '=', image.digest)
  else if (image?.tag !== undefined) select = select.where(hasTag(image.tag))
  // Hexadecimal digits have no meaning in a pattern.
  if (revision !== undefined) select = select.where('revision', 'like', `${revision}%`)
  if (before !== undefined) select = select.where('id', '<', before)
  return select.orderBy('id', 'desc').limit(filter.limit).execute()
}

/** Finds the report of an image that was made or repeated last. The long columns are read of that report only. */
export async function findLastReport(query: Query, accountId: string, image: ReportedImage): Promise<ImageReportRow | undefined> {
  const { name, tag = 'latest', digest } = image
  const select = query.selectFrom('image_report').select('id').where('account_id', '=', accountId).where('name', '=', name)
  const last = (digest === undefined ? select.where(hasTag(tag)) : select.where('digest', '=', digest))
    .orderBy('reported_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
  return query.selectFrom('image_report').selectAll().where('id', '=', last).executeTakeFirst()
}

/** True for a JSON list with the tag. LIKE would ignore the case on SQLite, and take `_` for any character. */
function hasTag(tag: string): RawBuilder<boolean> {
  return sql<boolean>`replace(tags, ${`"${tag}"`}, '') <> tags`
}

interface Kept {
  readonly accountId: string
  readonly source: string
  readonly keep: number
}

/** Deletes the oldest reports of a source that has more than `keep`, at most a hundred. */
export async function deleteOldestOfSource(tx: Tx, { accountId, source, keep }: Kept): Promise<void> {
  const oldest = tx.query
    .selectFrom('image_report')
    .select('id')
    .where('account_id', '=', accountId)
    .where('source', '=', source)
    .orderBy('reported_at', 'desc')
    .orderBy('id', 'desc')
    .limit(100)
    .offset(keep)
  await tx.query.deleteFrom('image_report').where('id', 'in', oldest).execute()
}

/** Deletes reports that were last made before a time. Returns how many. */
export async function deleteOldImageReports(
  tx: Tx,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query.selectFrom('image_report').select('id').where('reported_at', '<', before).limit(limit).execute()
  const ids = old.map(({ id }) => id)
  if (ids.length > 0) await tx.query.deleteFrom('image_report').where('id', 'in', ids).execute()
  return ids.length
}

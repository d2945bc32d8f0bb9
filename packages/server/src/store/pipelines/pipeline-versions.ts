import type { PipelineVersionRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Maximum stored versions of a pipeline. */
export const VERSIONS_KEPT = 500
/** Maximum size of the stored versions of a pipeline. The newest one is always kept. Bytes. */
const VERSION_BYTES_KEPT = 33_554_432

/** A version in a list, without its content. */
export type VersionHead = Omit<PipelineVersionRow, 'content'>

const HEAD = ['pipeline_id', 'version', 'account_id', 'bytes', 'changed_by', 'message', 'created_at'] as const

/** Adds a version and deletes the oldest ones beyond the limits. */
export async function insertPipelineVersion(tx: Tx, row: PipelineVersionRow): Promise<void> {
  await tx.query.insertInto('pipeline_version').values(row).execute()
  const sizes = await tx.query
    .selectFrom('pipeline_version')
    .select(['version', 'bytes'])
    .where('pipeline_id', '=', row.pipeline_id)
    .orderBy('version', 'desc')
    .execute()
  let total = 0
  const oldest = sizes.find(({ bytes }, index) => {
    total += bytes
    return index > 0 && (index >= VERSIONS_KEPT || total > VERSION_BYTES_KEPT)
  })
  if (oldest === undefined) return
  await tx.query
    .deleteFrom('pipeline_version')
    .where('pipeline_id', '=', row.pipeline_id)
    .where('version', '<=', oldest.version)
    .execute()
}

export async function findPipelineVersion(
  query: Query,
  pipelineId: string,
  version: number,
): Promise<PipelineVersionRow | undefined> {
  return query
    .selectFrom('pipeline_version')
    .selectAll()
    .where('pipeline_id', '=', pipelineId)
    .where('version', '=', version)
    .executeTakeFirst()
}

/** Lists versions, newest first. */
export async function listPipelineVersions(
  query: Query,
  pipelineId: string,
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
): Promise<VersionHead[]> {
  let select = query.selectFrom('pipeline_version').select(HEAD).where('pipeline_id', '=', pipelineId)
  if (before !== undefined) select = select.where('version', '<', before)
  return select.orderBy('version', 'desc').limit(limit).execute()
}

export async function deletePipelineVersions(tx: Tx, pipelineId: string): Promise<void> {
  await tx.query.deleteFrom('pipeline_version').where('pipeline_id', '=', pipelineId).execute()
}

/** Deletes versions of pipelines that a server of an earlier version deleted. */
export async function deleteLeftVersions(tx: Tx): Promise<void> {
  await tx.query
    .deleteFrom('pipeline_version')
    .where((where) =>
      where.not(
        where.exists(
          where.selectFrom('pipeline').select('pipeline.id').whereRef('pipeline.id', '=', 'pipeline_version.pipeline_id'),
        ),
      ),
    )
    .execute()
}

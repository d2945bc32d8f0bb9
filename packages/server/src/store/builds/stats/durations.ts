/** How long the last successful builds of pipelines ran. */
import type { BuildRow } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'

/** Successful builds of a pipeline that are read. */
const SAMPLES = 20
/** Pipelines in one statement. */
const MAX_PIPELINES = 64

export type Duration = Pick<BuildRow, 'pipeline_id' | 'started_at' | 'finished_at' | 'paused_ms'>

/** Returns the times of the last 20 successful builds of each pipeline. Reads at most 64 pipelines; the others are missing. */
export async function listDurations(query: Query, accountId: string, pipelineIds: readonly string[]): Promise<Duration[]> {
  const [first, ...others] = [...new Set(pipelineIds)]
    .slice(0, MAX_PIPELINES)
    .map((id) =>
      query
        .selectFrom(
          query
            .selectFrom('build')
            .select(['pipeline_id', 'started_at', 'finished_at', 'paused_ms'])
            .where('account_id', '=', accountId)
            .where('pipeline_id', '=', id)
            .where('status', '=', 'success')
            .orderBy('number', 'desc')
            .limit(SAMPLES)
            .as('page'),
        )
        .selectAll(),
    )
  return first === undefined ? [] : others.reduce((union, page) => union.unionAll(page), first).execute()
}

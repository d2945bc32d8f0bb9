/** What lists of pipelines show beyond the pipelines: their newest builds and the number of their triggers. */
import type { BuildRow } from '../schema/schema.ts'
import type { Query } from '../store.ts'

/** Pipelines in one statement. */
const AT_ONCE = 64

const SHOWN = ['id', 'pipeline_id', 'number', 'branch', 'status', 'started_at', 'finished_at', 'paused_ms'] as const
export type ShownBuild = Pick<BuildRow, (typeof SHOWN)[number]>

/** Returns the newest builds of each pipeline, newest first, by the id of the pipeline. */
export async function listNewestBuilds(
  query: Query,
  {
    accountId,
    pipelineIds,
    count,
  }: { readonly accountId: string; readonly pipelineIds: readonly string[]; readonly count: number },
): Promise<Map<string, ShownBuild[]>> {
  const found = new Map<string, ShownBuild[]>()
  for (let from = 0; from < pipelineIds.length; from += AT_ONCE) {
    const [first, ...others] = pipelineIds
      .slice(from, from + AT_ONCE)
      .map((id) =>
        query
          .selectFrom(
            query
              .selectFrom('build')
              .select(SHOWN)
              .where('account_id', '=', accountId)
              .where('pipeline_id', '=', id)
              .orderBy('number', 'desc')
              .limit(count)
              .as('page'),
          )
          .selectAll(),
      )
    if (first === undefined) continue
    for (const build of await others.reduce((union, page) => union.unionAll(page), first).execute()) {
      if (build.pipeline_id === null) continue
      const builds = found.get(build.pipeline_id)
      if (builds === undefined) found.set(build.pipeline_id, [build])
      else builds.push(build)
    }
  }
  for (const builds of found.values()) builds.sort((one, other) => other.number - one.number)
  return found
}

/** Counts the triggers of all kinds of each pipeline. */
export async function countTriggers(query: Query, pipelineIds: readonly string[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  if (pipelineIds.length === 0) return counts
  for (const table of ['pipeline_trigger', 'cron_trigger', 'event_trigger'] as const) {
    const rows = await query
      .selectFrom(table)
      .select((of) => ['pipeline_id', of.fn.countAll<number>().as('count')])
      .where('pipeline_id', 'in', [...pipelineIds])
      .groupBy('pipeline_id')
      .execute()
    for (const { pipeline_id: id, count } of rows) counts.set(id, (counts.get(id) ?? 0) + Number(count))
  }
  return counts
}

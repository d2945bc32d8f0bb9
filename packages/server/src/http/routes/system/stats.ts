/** Statistics of pipelines. */
import { PipelineStats, StatsQuery } from '@windlass/protocol'
import type { App } from '../../../app.ts'
import { readPipelineStats } from '../../../pipelines/stats.ts'
import { ByName } from '../pipelines/pipeline.ts'
import { ok, route, type Route } from '../../route.ts'

export function statsRoutes(app: App): Route[] {
  return [
    route('GET', '/v1/pipelines/{name}/stats', {
      summary: 'Show statistics of a pipeline: durations, waits by cause, steps, and what became slower or is flaky or oversized',
      allow: 'see-builds',
      scope: 'build:read',
      project: 'pipeline',
      params: ByName,
      query: StatsQuery,
      replies: { 200: PipelineStats },
      handle: async ({ params, query }) => ok(await readPipelineStats(app, params.name, query)),
    }),
  ]
}

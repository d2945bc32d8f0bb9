/** How long builds of a pipeline usually run. */
import type { App } from '../../app.ts'
import { listDurations } from '../../store/builds/durations.ts'

/** Fewer samples give no forecast. */
const MIN_SAMPLES = 5

/** Returns the median of the last 20 successful builds by the id of the pipeline, in milliseconds, without the time of approvals. */
export async function readUsualTimes(app: App, pipelineIds: readonly string[]): Promise<Map<string, number>> {
  const times = new Map<string, number[]>()
  for (const row of await listDurations(app.store.query, app.accountId, pipelineIds)) {
    if (row.pipeline_id === null || row.started_at === null || row.finished_at === null) continue
    const all = times.get(row.pipeline_id) ?? []
    all.push(Math.max(0, row.finished_at - row.started_at - row.paused_ms))
    times.set(row.pipeline_id, all)
  }
  return new Map([...times].flatMap(([id, all]) => (all.length < MIN_SAMPLES ? [] : [[id, medianOf(all)] as const])))
}

/** The lower one of the two middle values for an even number of values. */
function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0
}

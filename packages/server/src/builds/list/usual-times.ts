/** How long builds of a pipeline usually run. */
import { percentile } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { listDurations } from '../../store/builds/stats/durations.ts'

/** Fewer samples give no forecast. */
const MIN_SAMPLES = 5
/** How long the times of a pipeline are kept for lists. Milliseconds. */
const MAX_AGE_MS = 30_000
const MAX_KNOWN = 2_000

interface Known {
  readonly at: number
  /** Undefined with too few samples. */
  readonly ms: number | undefined
}
const caches = new WeakMap<App['store'], Map<string, Known>>()

/** Returns the same as `readUsualTimes`, at most 30 s old: lists and streams ask for the same pipelines again and again. */
export async function readRecentUsualTimes(app: App, pipelineIds: readonly string[]): Promise<Map<string, number>> {
  const known = caches.get(app.store) ?? new Map<string, Known>()
  caches.set(app.store, known)
  const now = app.clock.monotonic()
  const missing = new Set(pipelineIds.filter((id) => now - (known.get(id)?.at ?? -Infinity) >= MAX_AGE_MS))
  const read = await readUsualTimes(app, [...missing])
  for (const id of missing) {
    known.delete(id)
    known.set(id, { at: now, ms: read.get(id) })
  }
  // The oldest entries come first.
  for (const id of known.keys()) if (known.size > MAX_KNOWN) known.delete(id)
  return new Map(
    pipelineIds.flatMap((id) => {
      const ms = known.get(id)?.ms
      return ms === undefined ? [] : [[id, ms] as const]
    }),
  )
}

/** Returns the median of the last 20 successful builds by the id of the pipeline, in milliseconds, without the time of approvals. */
export async function readUsualTimes(app: App, pipelineIds: readonly string[]): Promise<Map<string, number>> {
  const times = new Map<string, number[]>()
  for (const row of await listDurations(app.store.query, app.accountId, pipelineIds)) {
    if (row.pipeline_id === null || row.started_at === null || row.finished_at === null) continue
    const all = times.get(row.pipeline_id) ?? []
    all.push(Math.max(0, row.finished_at - row.started_at - row.paused_ms))
    times.set(row.pipeline_id, all)
  }
  return new Map([...times].flatMap(([id, all]) => (all.length < MIN_SAMPLES ? [] : [[id, percentile(all, 0.5) ?? 0] as const])))
}

import { setImmediate as breathe } from 'node:timers/promises'
import { MAX_USAGE_POINTS, MAX_USAGE_STEPS, type BuildUsage, type BuildUsageQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { listUsageEvents } from '../../store/builds/stats/usage-events.ts'
import { UsageSeries } from './usage-series.ts'

const EVENTS_PER_PAGE = 1_000
/** Events of a build that are read. A build of 100 steps has so many after ten hours. */
const MAX_EVENTS = 300_000

const OfStep = z.looseObject({ step: z.string() })

/** Reads the usage of the steps of a build over time. */
export async function readUsage(app: App, buildId: string, query: z.output<typeof BuildUsageQuery>): Promise<BuildUsage> {
  const found = new Map<string, { step: string; attempt: number; series: UsageSeries }>()
  let isCut = false
  for (let after = 0, read = 0; read < MAX_EVENTS; read += EVENTS_PER_PAGE) {
    const page = await listUsageEvents(app.store.query, buildId, { after, limit: EVENTS_PER_PAGE })
    for (const event of page) {
      const step = OfStep.safeParse(JSON.parse(event.data)).data?.step
      if (step === undefined || (query.step !== undefined && step !== query.step)) continue
      const key = `${event.attempt} ${step}`
      const known = found.get(key) ?? { step, attempt: event.attempt, series: new UsageSeries() }
      found.set(key, known)
      known.series.add(event)
    }
    const last = page.at(-1)
    if (last === undefined || page.length < EVENTS_PER_PAGE) break
    after = last.position
    await breathe()
  }
  const steps: BuildUsage['steps'] = []
  for (const { step, attempt, series } of found.values()) {
    if (series.isEmpty) continue
    isCut = steps.length === MAX_USAGE_STEPS
    if (isCut) break
    steps.push({ step, attempt, ...series.describe(MAX_USAGE_POINTS) })
  }
  return { steps, isCut }
}

/** Forecasts from the usual times of builds. */
import type { App } from '../../app.ts'
import type { Holder } from '../../store/builds/queue.ts'
import { readUsualTimes } from './usual-times.ts'

/** Holders of a limit that a forecast reads. */
const MAX_READ = 50

/** Returns the holders whose end can be forecast. */
export function forecastable(holders: readonly Holder[]): Holder[] {
  return holders.slice(0, MAX_READ).filter(({ status }) => status === 'running')
}

/** Returns the ids of the pipelines of builds. */
export function pipelinesOf(holders: readonly Holder[]): string[] {
  return holders.flatMap(({ pipeline_id: id }) => (id === null ? [] : [id]))
}

/** Returns the time until the first of the holders usually ends, in milliseconds; undefined if this is not known of any. */
export function timeToNext(holders: readonly Holder[], usual: ReadonlyMap<string, number>, now: number): number | undefined {
  const left = forecastable(holders).flatMap(({ pipeline_id: id, started_at: startedAt }) => {
    const time = id === null ? undefined : usual.get(id)
    return time === undefined || startedAt === null ? [] : [Math.max(0, startedAt + time - now)]
  })
  return left.length === 0 ? undefined : Math.min(...left)
}

/** Reads the usual times of the holders and returns the time until the first of them usually ends. */
export async function nextPlaceMs(app: App, holders: readonly Holder[]): Promise<number | undefined> {
  const usual = await readUsualTimes(app, pipelinesOf(forecastable(holders)))
  return timeToNext(holders, usual, app.clock.now())
}

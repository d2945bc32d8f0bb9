/** Finds out when builds and steps became slower. */
import { groupBy, timeOf, type BuildSample, type StepSample } from './samples.ts'
import type { Slowdown } from './stats.ts'

/** Builds before and after a change whose medians are compared. */
const WINDOW = 10
const SLOWER_SHARE = 1.2
const SLOWER_MS = 10_000
/** Share of the builds before and after that must be on their side of the middle. Noise rarely separates them. */
const SEPARATED = 0.9
/** Share of the builds before the change, at most `HISTORY`, that must have been fast, and of all builds since that must still be slow. */
const LASTING = 0.8
const HISTORY = 30

interface Point {
  readonly build: BuildSample
  readonly ms: number
}

/** Finds rises of the duration of successful builds and of their steps that are still in effect. Whole builds come first. */
export function findSlower(builds: readonly BuildSample[], steps: readonly StepSample[]): Slowdown[] {
  const green = builds.filter(({ status, startedAt }) => status === 'success' && startedAt !== undefined)
  const whole = findRise(green.flatMap((build) => (build.durationMs === undefined ? [] : [{ build, ms: build.durationMs }])))
  const byId = new Map(green.map((build) => [build.id, build]))
  const bySteps = [...groupBy(steps, ({ step }) => step)].flatMap(([step, runs]) => {
    const points = runs.flatMap((run) => {
      const build = byId.get(run.buildId)
      return build === undefined || run.status !== 'success' ? [] : [{ build, ms: timeOf(run) }]
    })
    const rise = findRise(points.toSorted((one, other) => one.build.number - other.build.number))
    return rise === undefined ? [] : [{ step, ...rise }]
  })
  return [
    ...(whole === undefined ? [] : [whole]),
    ...bySteps.toSorted((one, other) => other.afterMs - other.beforeMs - (one.afterMs - one.beforeMs)),
  ]
}

/** Finds the latest rise in a series in the order of builds. */
function findRise(points: readonly Point[]): Slowdown | undefined {
  const times = points.map(({ ms }) => ms)
  let best: { readonly at: number; readonly separated: number; readonly rise: Slowdown } | undefined
  for (let at = WINDOW; at + WINDOW <= times.length; at += 1) {
    const found = judgeRise(times, at)
    const point = points[at]
    if (found === undefined || point === undefined) continue
    // Windows that overlap see the same change. The one that separates best begins with its first build.
    const isSame = best !== undefined && at - best.at < WINDOW
    if (isSame && best !== undefined && found.separated <= best.separated) continue
    const { id, number, startedAt = 0 } = point.build
    best = {
      at,
      separated: found.separated,
      rise: { beforeMs: found.before, afterMs: found.after, first: { id, number, startedAt } },
    }
  }
  return best?.rise
}

function judgeRise(times: readonly number[], at: number): { before: number; after: number; separated: number } | undefined {
  const [earlier, later] = [times.slice(at - WINDOW, at), times.slice(at, at + WINDOW)]
  const [before, after] = [median(earlier), median(later)]
  if (after < before * SLOWER_SHARE || after - before < SLOWER_MS) return undefined
  const middle = (before + after) / 2
  const separated = earlier.filter((ms) => ms < middle).length + later.filter((ms) => ms >= middle).length
  if (separated < SEPARATED * 2 * WINDOW) return undefined
  const history = times.slice(Math.max(0, at - HISTORY), at)
  if (history.filter((ms) => ms < middle).length < LASTING * history.length) return undefined
  const since = times.slice(at)
  if (since.filter((ms) => ms >= middle).length < LASTING * since.length) return undefined
  if (median(since.slice(-WINDOW)) < before * SLOWER_SHARE) return undefined
  return { before, after, separated }
}

/** The mean of the two middle values for an even number of values, rounded. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0
  const lower = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
  return Math.round((lower + upper) / 2)
}

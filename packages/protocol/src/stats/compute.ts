/** The rules of the statistics of a pipeline. Pure, so that the server and a page agree. */
import { findFlaky } from './flaky.ts'
import { groupBy, percentile, percentilesOf, timeOf, type BuildSample, type StepSample } from './samples.ts'
import { findSlower } from './slower.ts'
import type { PipelineStats, StepStats, WeekStats } from './stats.ts'

const WEEK_MS = 7 * 86_400_000
/** The epoch was a Thursday. */
const MONDAY_MS = 4 * 86_400_000
const OVERSIZED_FACTOR = 2
const OVERSIZED_BYTES = 256 * 1024 * 1024
const OVERSIZED_BUILDS = 10

/** What statistics consist of besides what was asked for. */
export type ComputedStats = Omit<PipelineStats, 'from' | 'to' | 'branch' | 'isExact'>

/** Computes the statistics of builds in any order. `askedBytes` is the memory that builds of the pipeline ask for now. */
export function computeStats(
  given: readonly BuildSample[],
  steps: readonly StepSample[],
  askedBytes: number | undefined,
): ComputedStats {
  const builds = given.toSorted((one, other) => one.number - other.number)
  const count = (status: BuildSample['status']): number => builds.filter((build) => build.status === status).length
  const [success, error, terminated] = [count('success'), count('error'), count('terminated')]
  const oversized = findOversized(steps, askedBytes)
  return {
    builds: { total: builds.length, success, error, terminated },
    ...(success + error > 0 && { greenShare: success / (success + error) }),
    duration: percentilesOf(durationsOf(builds)),
    wait: percentilesOf(builds.map(totalWait)),
    waits: waitsByCause(builds),
    weeks: byWeek(builds),
    steps: byStep(steps),
    slower: findSlower(builds, steps),
    flaky: findFlaky(builds, steps),
    ...(oversized !== undefined && { oversized }),
  }
}

function durationsOf(builds: readonly BuildSample[]): number[] {
  return builds.flatMap(({ status, durationMs }) => (status === 'success' && durationMs !== undefined ? [durationMs] : []))
}

function totalWait({ waits }: BuildSample): number {
  return Object.values(waits).reduce((sum, ms) => sum + ms, 0)
}

function waitsByCause(builds: readonly BuildSample[]): PipelineStats['waits'] {
  const times = groupBy(
    builds.flatMap(({ waits }) => Object.entries(waits)),
    ([cause]) => cause,
  )
  return [...times]
    .map(([cause, entries]) => {
      const all = entries.map(([, ms]) => ms)
      return { cause, totalMs: all.reduce((sum, ms) => sum + ms, 0), ...percentilesOf(all) }
    })
    .toSorted((one, other) => other.totalMs - one.totalMs || (one.cause < other.cause ? -1 : 1))
}

function byWeek(builds: readonly BuildSample[]): WeekStats[] {
  const weeks = groupBy(builds, ({ createdAt }) => weekOf(createdAt))
  return [...weeks]
    .toSorted(([one], [other]) => one - other)
    .map(([week, own]) => {
      const waitP95Ms = percentile(own.map(totalWait), 0.95)
      const count = (status: BuildSample['status']): number => own.filter((build) => build.status === status).length
      return {
        week,
        success: count('success'),
        error: count('error'),
        terminated: count('terminated'),
        ...percentilesOf(durationsOf(own)),
        ...(waitP95Ms !== undefined && { waitP95Ms }),
      }
    })
}

/** Returns the Monday, 00:00 UTC, of the week of a time. */
function weekOf(at: number): number {
  return Math.floor((at - MONDAY_MS) / WEEK_MS) * WEEK_MS + MONDAY_MS
}

function byStep(steps: readonly StepSample[]): StepStats[] {
  const firstStart = new Map<string, number>()
  for (const { buildId, startedAt } of steps) firstStart.set(buildId, Math.min(startedAt, firstStart.get(buildId) ?? Infinity))
  return [...groupBy(steps, ({ step }) => step)]
    .map(([step, runs]) => {
      const measured = runs.filter(({ memoryBytes }) => memoryBytes !== undefined)
      const memoryP95 = percentile(
        measured.flatMap(({ memoryBytes }) => memoryBytes ?? []),
        0.95,
      )
      const memoryBuilds = new Set(measured.map(({ buildId }) => buildId)).size
      const starts = runs.map(({ buildId, startedAt }) => startedAt - (firstStart.get(buildId) ?? startedAt))
      return {
        start: percentile(starts, 0.5) ?? 0,
        stats: {
          step,
          failed: runs.filter(({ status }) => status === 'error').length,
          ...percentilesOf(runs.filter(({ status }) => status === 'success').map(timeOf)),
          ...(memoryP95 !== undefined && { memoryP95, memoryBuilds }),
        },
      }
    })
    .toSorted((one, other) => one.start - other.start || (one.stats.step < other.stats.step ? -1 : 1))
    .map(({ stats }) => stats)
}

function findOversized(steps: readonly StepSample[], asked: number | undefined): PipelineStats['oversized'] {
  if (asked === undefined) return undefined
  const peaks = [...groupBy(steps, ({ buildId }) => buildId).values()].flatMap((runs) => peakOf(runs) ?? [])
  const p95 = percentile(peaks, 0.95)
  if (p95 === undefined || peaks.length < OVERSIZED_BUILDS) return undefined
  return asked >= p95 * OVERSIZED_FACTOR && asked - p95 >= OVERSIZED_BYTES ? { asked, p95, builds: peaks.length } : undefined
}

/** Returns an upper bound of the memory of a build: the greatest sum of the peaks of steps that ran at the same time. */
function peakOf(runs: readonly StepSample[]): number | undefined {
  const changes = runs.flatMap(({ startedAt, finishedAt, memoryBytes }) =>
    memoryBytes === undefined
      ? []
      : [
          { at: startedAt, bytes: memoryBytes },
          { at: finishedAt, bytes: -memoryBytes },
        ],
  )
  if (changes.length === 0) return undefined
  let used = 0
  let peak = 0
  // A step that starts when another one ends does not run beside it, unless it took no time.
  for (const { bytes } of changes.toSorted((one, other) => one.at - other.at || one.bytes - other.bytes)) {
    used += bytes
    peak = Math.max(peak, used)
  }
  return Math.max(peak, ...runs.map(({ memoryBytes = 0 }) => memoryBytes))
}

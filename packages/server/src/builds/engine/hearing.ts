/**
 * Tracks when this process could receive calls of engines: the process ran, its wall clock and monotonic clock agreed, and the database responded.
 * Other time never counts as silence of an engine. After each break, engines get one `deadMs` to call again.
 */
import type { Clock } from '@windlass/kit'
import type { Timings } from '../../settings.ts'

/** A point in time on both clocks. Milliseconds. */
export interface Moment {
  readonly wall: number
  readonly steady: number
}

/** Times are epoch milliseconds unless noted otherwise. */
export interface Hearing {
  /** Start of the current period without a break. Silence before it does not count. */
  since: number
  /** Last time at which engines could be heard. */
  heardAt: number
  /** No silence is judged before this time of the monotonic clock. */
  judgeFrom: number
  /** The last sweep that was allowed to judge silence and succeeded. */
  judged?: Moment | undefined
  /** The time before this counts as a break, because it is not recorded. */
  begin: number
  /** Breaks since `begin`, oldest first, without overlap. */
  breaks: { readonly from: number; readonly until: number }[]
}

/** The parts of the server that decide whether engines can be heard. */
export interface HearingParts {
  readonly hearing: Hearing
  readonly clock: Clock
  readonly timings: Timings
}

/** If the clocks disagree by more than this, one jumped or the process was suspended. Milliseconds. */
const MAX_DRIFT_MS = 2000
const MAX_BREAKS = 1000

/** Creates the state of a process that has just started. */
export function openHearing(clock: Clock, { deadMs }: Pick<Timings, 'deadMs'>): Hearing {
  const { wall, steady } = readMoment(clock)
  return { since: wall, heardAt: wall, judgeFrom: steady + deadMs, begin: wall, breaks: [] }
}

export function readMoment(clock: Clock): Moment {
  return { wall: clock.now(), steady: clock.monotonic() }
}

/** True if a clock jumped or the process was suspended between two moments that should be one sweep apart. */
export function isBreak(before: Moment, after: Moment, { sweepMs, suspectMs }: Timings): boolean {
  const passed = after.steady - before.steady
  return Math.abs(after.wall - before.wall - passed) > MAX_DRIFT_MS || passed > sweepMs + Math.max(MAX_DRIFT_MS, suspectMs / 2)
}

/**
 * Records a break from `heardAt` until now, after a failed sweep, a failed call of an engine, or a suspension of the process. Breaks at most one
 * `deadMs` apart are merged.
 */
export function noteBreak({ hearing, clock, timings: { deadMs } }: HearingParts): void {
  const { wall, steady } = readMoment(clock)
  const last = hearing.breaks.at(-1)
  const extendsLast = last !== undefined && hearing.heardAt - last.until <= deadMs
  if (wall > hearing.heardAt) {
    if (extendsLast) hearing.breaks.pop()
    hearing.breaks.push({ from: extendsLast ? last.from : hearing.heardAt, until: wall })
  }
  if (hearing.breaks.length > MAX_BREAKS) hearing.begin = hearing.breaks.shift()?.until ?? hearing.begin
  Object.assign(hearing, { since: wall, heardAt: wall, judgeFrom: steady + deadMs, judged: undefined })
}

/** Returns how much of the time from `from` until `now` engines could be heard. Milliseconds. */
export function heardMs({ begin, breaks }: Hearing, from: number, now: number): number {
  const start = Math.max(from, begin)
  const unheard = breaks.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.until, now) - Math.max(gap.from, start)), 0)
  return now - start - unheard
}

/** True if silence of an engine is meaningful: the last sweep judged silence, and no break came since. */
export function hearsEngines({ hearing: { judged }, clock, timings }: HearingParts): boolean {
  return judged !== undefined && !isBreak(judged, readMoment(clock), timings)
}

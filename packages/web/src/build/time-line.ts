/** Places of bars on the time line of a build. Pure. */

/** From the start of the build to its end, its usual end or now. Epoch milliseconds. */
export interface Span {
  readonly from: number
  readonly to: number
}

interface Timed {
  readonly startedAt?: number | undefined
  readonly finishedAt?: number | undefined
  readonly carried?: boolean | undefined
}

/** A part of the time of a step in one attempt. `to` is absent for the part that has not ended. Epoch milliseconds. */
export interface Phase {
  readonly phase: string
  readonly from: number
  readonly to?: number | undefined
}

export interface Bar {
  /** `prepare`: until the commands of the step run, such as the pull of its image. */
  readonly kind: 'prepare' | 'run'
  /** Percent of the span. */
  readonly left: number
  readonly width: number
}

/** The narrowest bar that can be seen. Percent. */
const NARROWEST = 0.6
/** Phases in which the commands of a step, or what replaces them, run. */
const RUNNING: ReadonlySet<string> = new Set(['run', 'export'])

/** Returns the place of a time in percent of the span. */
export function shareOf(time: number, { from, to }: Span): number {
  return (Math.min(Math.max(time - from, 0), to - from) / (to - from)) * 100
}

/** Returns the bars of a step: its preparation, if the phases tell it, and its run. None for a step that has not started, or that ran in another build. */
export function barsOf(step: Timed, phases: readonly Phase[], span: Span, now: number): Bar[] {
  const { startedAt, finishedAt, carried } = step
  if (startedAt === undefined || carried === true) return []
  const end = finishedAt ?? now
  const runs = phases.find(({ phase }) => RUNNING.has(phase))?.from
  const isPreparing = phases.length > 0 && runs === undefined && finishedAt === undefined
  const ready = isPreparing ? end : Math.min(Math.max(runs ?? startedAt, startedAt), end)
  const bars: Bar[] = []
  if (ready > startedAt) bars.push(barBetween('prepare', startedAt, ready, span))
  if (ready < end || bars.length === 0) bars.push(barBetween('run', ready, end, span))
  return bars
}

function barBetween(kind: Bar['kind'], from: number, to: number, span: Span): Bar {
  const left = Math.min(shareOf(from, span), 100 - NARROWEST)
  return { kind, left, width: Math.max(shareOf(to, span) - left, NARROWEST) }
}

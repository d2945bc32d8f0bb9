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

/**
 * Returns the bars of a step: its preparation and its run, once for each try and attempt that the phases tell. A single bar without phases, none for a
 * step that has not started, or that ran in another build.
 */
export function barsOf(step: Timed, phases: readonly Phase[], span: Span, now: number): Bar[] {
  const { startedAt, finishedAt, carried } = step
  if (startedAt === undefined || carried === true) return []
  const end = finishedAt ?? now
  const parts: { kind: Bar['kind']; from: number; to: number }[] = []
  for (const { phase, from, to = end } of phases.toSorted((one, other) => one.from - other.from)) {
    const kind = RUNNING.has(phase) ? 'run' : 'prepare'
    const last = parts.at(-1)
    if (last?.kind === kind && from <= last.to) last.to = Math.max(last.to, to)
    else parts.push({ kind, from: Math.max(from, last?.to ?? 0), to })
  }
  const [first, last] = [parts[0], parts.at(-1)]
  if (first === undefined || last === undefined) return [barBetween('run', startedAt, end, span)]
  if (first.kind === 'prepare') first.from = Math.min(first.from, startedAt)
  else if (first.from > startedAt) parts.unshift({ kind: 'prepare', from: startedAt, to: first.from })
  if (last.kind === 'run') last.to = Math.max(last.to, end)
  return parts.filter(({ from, to }) => to > from).map(({ kind, from, to }) => barBetween(kind, from, to, span))
}

function barBetween(kind: Bar['kind'], from: number, to: number, span: Span): Bar {
  const left = Math.min(shareOf(from, span), 100 - NARROWEST)
  return { kind, left, width: Math.max(shareOf(to, span) - left, NARROWEST) }
}

/** Places of bars on the time line of a build. Pure. */
import type { Attempt } from '@windlass/protocol'

/** The part of time that the line shows. Epoch milliseconds. */
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

export interface Facts {
  readonly phases: readonly Phase[]
  /** When the debugger held the step. `to` is absent while it holds it. */
  readonly holds: readonly Omit<Phase, 'phase'>[]
}

export interface Bar {
  /** `prepare`: until the commands of the step run, such as the pull of its image. `hold`: by the debugger. */
  readonly kind: 'prepare' | 'run' | 'hold'
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

/** Returns the span from the creation of a build to its end or a later time. A wait before its start takes at most a third of it, so that its steps can be seen. */
export function spanOf(build: { readonly createdAt: number; readonly startedAt?: number | undefined }, end: number): Span {
  const { createdAt, startedAt = createdAt } = build
  const to = Math.max(end, startedAt + 1_000)
  return { from: Math.max(createdAt, startedAt - (to - startedAt) / 2), to }
}

interface Part {
  readonly kind: Bar['kind']
  from: number
  to: number
}

/**
 * Returns the bars of a step: its preparation, its run and its holds, once for each try and attempt that the phases tell. A single bar without phases, none
 * for a step that has not started in any attempt, or that ran in another build.
 */
export function barsOf(step: Timed, { phases, holds }: Facts, span: Span, now: number): Bar[] {
  const { startedAt, finishedAt, carried } = step
  if (carried === true) return []
  const end = finishedAt ?? now
  const held = holds.map(({ from, to = end }): Part => ({ kind: 'hold', from, to }))
  const parts = held.reduce<readonly Part[]>(cutOut, partsOf(phases, { startedAt, end }))
  return [...parts, ...held]
    .filter(({ from, to }) => to >= from)
    .toSorted((one, other) => one.from - other.from)
    .map(({ kind, from, to }) => ({ kind, ...placeOf({ from, to }, span, NARROWEST) }))
}

function partsOf(
  phases: readonly Phase[],
  { startedAt, end }: { readonly startedAt: number | undefined; readonly end: number },
): Part[] {
  const parts: Part[] = []
  const ofTry = new Set<string>()
  for (const { phase, from, to = end } of phases.toSorted((one, other) => one.from - other.from)) {
    const kind = RUNNING.has(phase) ? 'run' : 'prepare'
    const last = parts.at(-1)
    // A phase that comes again begins another try.
    if (ofTry.has(phase)) ofTry.clear()
    const isSameTry = ofTry.size > 0
    ofTry.add(phase)
    if (isSameTry && last?.kind === kind && from <= last.to) last.to = Math.max(last.to, to)
    else parts.push({ kind, from: Math.max(from, last?.to ?? 0), to })
  }
  const [first] = parts
  if (startedAt === undefined) return parts
  if (first === undefined) return [{ kind: 'run', from: startedAt, to: end }]
  if (first.kind === 'prepare') first.from = Math.min(first.from, startedAt)
  else if (first.from > startedAt) parts.unshift({ kind: 'prepare', from: startedAt, to: first.from })
  return parts
}

/** Returns the parts without the time of a hold. */
function cutOut(parts: readonly Part[], hold: Span): Part[] {
  return parts.flatMap((part) => {
    if (hold.to <= part.from || hold.from >= part.to) return [part]
    const rest = [
      { ...part, to: Math.max(part.from, hold.from) },
      { ...part, from: Math.min(part.to, hold.to) },
    ]
    return rest.filter(({ from, to }) => to > from)
  })
}

export interface Band {
  /** `wait`: for an attempt or an approval. `prepare`: the attempt starts its pods. */
  readonly kind: 'wait' | 'prepare' | 'run'
  /** The attempt. Absent for a wait. */
  readonly attempt?: Attempt
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
}

interface Attempted {
  readonly createdAt: number
  readonly finishedAt?: number | undefined
  readonly attempts?: readonly Attempt[] | undefined
}

/** Returns what a build did as a whole: it waited, and its attempts started and ran. */
export function bandsOf({ createdAt, finishedAt, attempts = [] }: Attempted, now: number): Band[] {
  const end = finishedAt ?? now
  const bands: Band[] = []
  let at = createdAt
  for (const attempt of attempts) {
    const to = attempt.endedAt ?? end
    const startedAt = attempt.startedAt ?? to
    bands.push({ kind: 'wait', from: at, to: attempt.createdAt })
    bands.push(
      { kind: 'prepare', attempt, from: attempt.createdAt, to: startedAt },
      { kind: 'run', attempt, from: startedAt, to },
    )
    at = to
  }
  bands.push({ kind: 'wait', from: at, to: end })
  return bands.filter(({ from, to }) => to > from)
}

/** Returns where a part is on the line, at least as wide as `narrowest`. Percent. */
export function placeOf(part: Span, span: Span, narrowest: number): Pick<Bar, 'left' | 'width'> {
  const left = Math.min(shareOf(part.from, span), 100 - narrowest)
  return { left, width: Math.max(shareOf(part.to, span) - left, narrowest) }
}

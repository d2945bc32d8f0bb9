/** The shapes of the drawing of the load, and its rows as a table. Pure. */
import type { RuntimeActivity } from '@windlass/protocol'

export type Sample = RuntimeActivity['samples'][number]

/** Interval of the samples. Milliseconds. */
const STEP_MS = 5 * 60_000
const HOUR_MS = 3_600_000

export interface Frame {
  /** Epoch milliseconds of the left and the right edge. */
  readonly from: number
  readonly to: number
  readonly width: number
  readonly height: number
  /** The number of builds at the upper edge. */
  readonly top: number
}

/** Returns the path of the area between two values of each sample. Times without samples stay empty: no server ran. */
export function areaOf(
  samples: readonly Sample[],
  frame: Frame,
  [low, high]: readonly [(one: Sample) => number, (one: Sample) => number],
): string {
  const x = (at: number): number => round(((at - frame.from) / (frame.to - frame.from)) * frame.width)
  const y = (value: number): number => round(frame.height - (value / frame.top) * frame.height)
  return runsOf(samples)
    .filter((run) => run.some((one) => high(one) > low(one)))
    .map((run) => {
      const edges = (of: (one: Sample) => number): string[] =>
        run.flatMap((one) => [`${x(one.at)} ${y(of(one))}`, `${Math.min(x(one.at + STEP_MS), frame.width)} ${y(of(one))}`])
      return `M${edges(high).join('L')}L${edges(low).toReversed().join('L')}Z`
    })
    .join('')
}

/** Splits samples where one or more are missing. */
function runsOf(samples: readonly Sample[]): Sample[][] {
  const runs: Sample[][] = []
  for (const sample of samples) {
    const last = runs.at(-1)
    const before = last?.at(-1)
    if (last === undefined || before === undefined || sample.at - before.at > STEP_MS * 1.5) runs.push([sample])
    else last.push(sample)
  }
  return runs
}

const round = (value: number): number => Math.round(value * 10) / 10

/** Returns the greatest load of each hour, newest first. */
export function byHour(samples: readonly Sample[]): Sample[] {
  const hours = new Map<number, Sample>()
  for (const { at, running, waiting, pairs } of samples) {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS
    const most = hours.get(hour) ?? { at: hour, running: 0, waiting: 0, pairs: 0 }
    hours.set(hour, {
      at: hour,
      running: Math.max(most.running, running),
      waiting: Math.max(most.waiting, waiting),
      pairs: Math.max(most.pairs, pairs),
    })
  }
  return [...hours.values()].toSorted((one, other) => other.at - one.at)
}

/** Returns the greatest value of all samples, 0 without any. */
export function mostOf(samples: readonly Sample[], of: (one: Sample) => number): number {
  return samples.reduce((most, one) => Math.max(most, of(one)), 0)
}

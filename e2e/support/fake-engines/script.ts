/** The behavior of fake engines. All random choices come from the seed and the ids, so that a run can be repeated and checked afterwards. */
import { createHash } from 'node:crypto'

export const CRASH_POINTS = ['before-claim', 'after-claim', 'in-step', 'after-logs', 'before-finish', 'after-finish'] as const
/** Points at which an engine may die without a report. */
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Ranges are inclusive; probabilities are between 0 and 1. */
export interface FakeScript {
  readonly seed: number
  /** Time from the start task to the first call of the engine. Milliseconds. */
  readonly startMs: readonly [number, number]
  readonly stepMs: readonly [number, number]
  /** Approximate number of output bytes of a step, in complete lines. */
  readonly logBytes: readonly [number, number]
  /** Share of the steps whose output has about 4 MiB, which takes several frames at once. Default 0. */
  readonly longShare?: number
  /** Maximum number of bytes that a step writes at once, unless its output is long. More output is split into pieces over its duration. */
  readonly pieceBytes: number
  /** Probability that a step ends with exit code 1. */
  readonly failChance: number
  /** Probability of a crash at each point. Default 0. */
  readonly crashChance: Readonly<Partial<Record<CrashPoint, number>>>
  /** Probability that the executor does not notice a crash, so that only the missing heartbeats show it. */
  readonly silentChance: number
  /** Time from a TERM to the end of a step. Milliseconds. */
  readonly stopMs: number
  /** Secrets that steps print, plain and in the encodings of `leaksOf`. The engine must mask them. */
  readonly leaks: readonly string[]
}

export const DEFAULT_SCRIPT: FakeScript = {
  seed: 1,
  startMs: [0, 0],
  stepMs: [0, 0],
  logBytes: [64, 64],
  pieceBytes: 262_144,
  failChance: 0,
  crashChance: {},
  silentChance: 0,
  stopMs: 0,
  leaks: [],
}

/** Returns a number in [0, 1) that depends only on the seed and the labels. */
export function draw(seed: number, ...labels: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(`${seed}/${labels.join('/')}`)
    .digest()
  return digest.readUInt32BE(0) / 2 ** 32
}

/** Returns an integer of an inclusive range, drawn as `draw` does. */
export function drawWithin(range: readonly [number, number], seed: number, ...labels: readonly (string | number)[]): number {
  return range[0] + Math.floor(draw(seed, ...labels) * (range[1] - range[0] + 1))
}

export interface StepRun {
  readonly buildId: string
  readonly attempt: number
  readonly step: string
}

/** Returns the outcome of a step without interference. */
export function stepVerdict({ seed, failChance }: FakeScript, { buildId, attempt, step }: StepRun): 'success' | 'error' {
  return draw(seed, buildId, attempt, step, 'fail') < failChance ? 'error' : 'success'
}

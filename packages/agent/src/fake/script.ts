/** What fake engines do: everything random comes from the seed and the ids, so that a run can be repeated and checked afterwards. */
import { createHash } from 'node:crypto'

export const CRASH_POINTS = ['before-claim', 'after-claim', 'in-step', 'after-logs', 'before-finish', 'after-finish'] as const
/** Where an engine may die without a word. */
export type CrashPoint = (typeof CRASH_POINTS)[number]

/** Ranges are inclusive; chances are between 0 and 1. */
export interface FakeScript {
  readonly seed: number
  /** From the start task to the engine's first call, milliseconds. */
  readonly startMs: readonly [number, number]
  readonly stepMs: readonly [number, number]
  /** Bytes of output of one step. */
  readonly logBytes: readonly [number, number]
  /** Most bytes of one frame. */
  readonly frameBytes: number
  /** Chance that a step ends with exit code 1. */
  readonly failChance: number
  /** Chance to die at each point; 0 where absent. */
  readonly crashChance: Readonly<Partial<Record<CrashPoint, number>>>
  /** Chance that a death is not noticed by the executor: only the missing heartbeats tell. */
  readonly silentChance: number
  /** Between a TERM and the end of a step, milliseconds. */
  readonly stopMs: number
}

export const DEFAULT_SCRIPT: FakeScript = {
  seed: 1,
  startMs: [0, 0],
  stepMs: [0, 0],
  logBytes: [64, 64],
  frameBytes: 262_144,
  failChance: 0,
  crashChance: {},
  silentChance: 0,
  stopMs: 0,
}

/** A number in [0, 1) that depends on the seed and the labels alone. */
export function draw(seed: number, ...labels: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(`${seed}/${labels.join('/')}`)
    .digest()
  return digest.readUInt32BE(0) / 2 ** 32
}

/** A whole number of an inclusive range, drawn as `draw` does. */
export function drawWithin(range: readonly [number, number], seed: number, ...labels: readonly (string | number)[]): number {
  return range[0] + Math.floor(draw(seed, ...labels) * (range[1] - range[0] + 1))
}

export interface StepRun {
  readonly seed: number
  readonly buildId: string
  readonly attempt: number
  readonly step: string
}

/** The output of a step: `bytes` bytes of numbered lines. The checker makes the same bytes again and compares. */
export function stepOutput(run: StepRun, bytes: number): Buffer {
  const line = `${run.buildId} ${run.attempt} ${run.step} ${Math.floor(draw(run.seed, run.buildId, run.attempt, run.step) * 1e9)}`
  const output = Buffer.alloc(bytes)
  for (let at = 0, n = 0; at < bytes; n += 1) at += output.write(`${n} ${line}\n`, at)
  return output
}

/** How many bytes of output a step writes under a script. */
export function stepOutputBytes(script: FakeScript, run: StepRun): number {
  return drawWithin(script.logBytes, script.seed, run.buildId, run.attempt, run.step, 'log')
}

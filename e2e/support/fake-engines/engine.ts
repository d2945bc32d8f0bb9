/**
 * An engine without containers. It claims its attempt, walks the plan, writes seeded output, reports events and obeys commands with the parts of a
 * real engine (`reporter.ts`). It crashes where the script says so.
 */
import type { AttemptRef } from '@windlass/agent'
import { type Clock, type Logger } from '@windlass/kit'
import {
  stepStream,
  SYSTEM_STREAM,
  type AttemptOutcome,
  type Client,
  type EngineClaimed,
  type EngineEventBody,
} from '@windlass/protocol'
import { stepOutput } from './output.ts'
import { openReporter, type Reporter } from './reporter.ts'
import { draw, drawWithin, stepVerdict, type CrashPoint, type FakeScript } from './script.ts'

/** What happened in the engine, for a checker to compare with the records of the server. */
export type FakeObservation = AttemptRef & { readonly at: number } & (
    | { readonly type: 'pod-started' }
    /** `crashed`: died without a report; `killed`: by a stop or from outside; `ended`: by itself. */
    | { readonly type: 'pod-ended'; readonly how: 'ended' | 'crashed' | 'killed'; readonly point?: CrashPoint }
    | { readonly type: 'claimed' }
    | { readonly type: 'step-started'; readonly step: string }
    | { readonly type: 'step-ended'; readonly step: string; readonly status: 'success' | 'error' | 'terminated' }
    /** The outcome that the engine is about to report. */
    | { readonly type: 'finishing'; readonly status: AttemptOutcome['status'] }
    /** The server acknowledged the end. */
    | { readonly type: 'finished'; readonly status: AttemptOutcome['status'] }
    | { readonly type: 'fenced' }
  )

export type Observe = (observation: FakeObservation) => void
export type HoldStep = (run: AttemptRef & { readonly step: string }) => Promise<void>

export interface FakeEngineOptions {
  /** Carries the bootstrap credential. */
  readonly client: Client
  readonly ref: AttemptRef
  readonly script: FakeScript
  readonly clock: Clock
  readonly log: Logger
  readonly observe: Observe
  /** A folder of this engine only. */
  readonly spoolDir: string
  /** Called by every running step; the step continues when this resolves. */
  readonly holdStep: HoldStep
  /** Aborted when the pod is killed. */
  readonly signal: AbortSignal
}

/** The engine died at a point of the script. */
export class FakeCrash extends Error {
  readonly point: CrashPoint

  constructor(point: CrashPoint) {
    super(`crashed ${point}`)
    this.point = point
  }
}

/** Limit of the log in the spool of a fake engine. Its steps wait above it. */
const SPOOL_BYTES = 64 * 1024 * 1024
/** Maximum number of pieces of the output of a step. A pause between two pieces takes at least a millisecond. */
const MOST_PIECES = 32

/** Runs one fake engine to its end. Throws `FakeCrash`, an abort, or a fault such as `claim-used` or `attempt-stale`. */
export async function runFakeEngine(options: FakeEngineOptions): Promise<void> {
  const { script, ref, signal, clock, client, log, spoolDir } = options
  await clock.sleep(drawWithin(script.startMs, script.seed, ref.buildId, ref.attempt, 'start'), signal)
  crash(options, 'before-claim')
  const claimKey = `fake-${ref.buildId}-${ref.attempt}`
  const reporter = await openReporter({ client, clock, log, claimKey, spoolDir, spoolBytes: SPOOL_BYTES, signal })
  try {
    options.observe({ ...ref, at: clock.now(), type: 'claimed' })
    crash(options, 'after-claim')
    await new FakeEngine(options, reporter).run()
  } finally {
    await reporter.close()
  }
}

/** Returns true if the script lets this engine die here. Each point is drawn once per attempt (`in-step` and `after-logs` once per step). */
function crashes({ script, ref }: FakeEngineOptions, point: CrashPoint, step: string): boolean {
  const chance = script.crashChance[point] ?? 0
  return chance > 0 && draw(script.seed, ref.buildId, ref.attempt, point, step) < chance
}

function crash(options: FakeEngineOptions, point: CrashPoint, step = ''): void {
  if (crashes(options, point, step)) throw new FakeCrash(point)
}

class FakeEngine {
  readonly #options: FakeEngineOptions
  readonly #reporter: Reporter
  /** Aborted by a terminate command. */
  readonly #terminated = new AbortController()
  /** Aborted when the engine has ended or died. */
  readonly #over = new AbortController()
  readonly #signal: AbortSignal
  readonly #running = new Map<string, Promise<void>>()
  #outcome: AttemptOutcome = { status: 'success' }

  constructor(options: FakeEngineOptions, reporter: Reporter) {
    this.#options = options
    this.#reporter = reporter
    this.#signal = AbortSignal.any([options.signal, this.#over.signal])
  }

  async run(): Promise<void> {
    void this.#obey()
    const walk = this.#walk()
    try {
      await Promise.race([walk, this.#reporter.failed, aborted(this.#signal)])
    } finally {
      this.#over.abort(new DOMException('the engine is over', 'AbortError'))
      await Promise.allSettled([walk, ...this.#running.values()])
    }
  }

  async #obey(): Promise<void> {
    for await (const command of this.#reporter.commands)
      if (command.type === 'terminate') this.#terminated.abort(new DOMException(command.reason, 'AbortError'))
  }

  async #walk(): Promise<void> {
    const { ref, clock, observe, script } = this.#options
    this.#tell({ type: 'attempt.started', engineVersion: 'fake', docker: { version: 'fake', api: '1.45' }, volumeKept: true })
    if (script.logBytes[1] > 0)
      await this.#reporter.output(SYSTEM_STREAM).write([{ source: 1, bytes: Buffer.from('fake engine\n') }])
    await this.#runSteps()
    crash(this.#options, 'before-finish')
    const { status } = this.#outcome
    observe({ ...ref, at: clock.now(), type: 'finishing', status })
    await this.#reporter.finish(this.#outcome)
    this.#signal.throwIfAborted()
    observe({ ...ref, at: clock.now(), type: 'finished', status })
    crash(this.#options, 'after-finish')
  }

  readonly #tell = (event: EngineEventBody): void => {
    // A killed engine writes nothing more.
    this.#signal.throwIfAborted()
    this.#reporter.tell(event)
  }

  /** Runs each step after its predecessors have ended, in parallel where the plan allows it. */
  async #runSteps(): Promise<void> {
    const { plan, snapshot } = this.#reporter.claimed
    const over = new Set<string>()
    const left = new Set(plan.steps)
    for (const step of plan.steps) {
      const known = snapshot.steps[step.name]
      if (known?.reason === 'denied') this.#end({ status: 'error', reason: 'denied', step: step.name })
      if (!isDone(known?.status)) continue
      over.add(step.name)
      left.delete(step)
    }
    while (left.size > 0 || this.#running.size > 0) {
      if (this.#terminated.signal.aborted) this.#end({ status: 'terminated', reason: 'cancelled' })
      for (const step of left) {
        if (this.#outcome.status !== 'success') break
        if (!awaited(step).every((name) => over.has(name))) continue
        left.delete(step)
        this.#running.set(
          step.name,
          this.#begin(step).then(() => {
            this.#running.delete(step.name)
            over.add(step.name)
          }),
        )
      }
      if (this.#running.size > 0) await Promise.race(this.#running.values())
      else if (this.#outcome.status !== 'success' || left.size > 0) break
    }
    const { status } = this.#outcome
    if (status === 'error' || status === 'terminated') for (const step of left) this.#skip(step)
  }

  /** The first end counts. */
  #end(outcome: AttemptOutcome): void {
    if (this.#outcome.status === 'success') this.#outcome = outcome
  }

  async #begin(step: Step): Promise<void> {
    if (step.action.kind === 'pending-approval') {
      this.#tell({ type: 'step.waiting', step: step.name, reason: 'approval' })
      return this.#end({ status: 'pending-approval', step: step.name })
    }
    const end = await this.#runStep(step)
    if (end === 'error') this.#end({ status: 'error', reason: 'step-failed', step: step.name })
    if (end === 'terminated') this.#end({ status: 'terminated', reason: 'cancelled', step: step.name })
  }

  #skip({ name: step }: Step): void {
    this.#tell({ type: 'step.finished', step, try: 0, status: 'skipped', reason: 'not-reached', members: {}, exports: [] })
  }

  async #runStep({ name: step }: Step): Promise<StepEnd> {
    const { script, ref, clock, observe } = this.#options
    const run = { ...ref, step }
    observe({ ...run, at: clock.now(), type: 'step-started' })
    this.#tell({ type: 'step.started', step, try: 1 })
    if (crashes(this.#options, 'in-step', step)) await this.#reporter.told(this.#signal)
    crash(this.#options, 'in-step', step)
    await this.#say(step)
    await Promise.race([this.#options.holdStep(run), aborted(this.#signal)])
    if (crashes(this.#options, 'after-logs', step)) await this.#reporter.told(this.#signal)
    crash(this.#options, 'after-logs', step)
    const status: StepEnd = this.#terminated.signal.aborted ? 'terminated' : stepVerdict(script, run)
    const streams = await this.#reporter.lengthsOf(step)
    // A failing program often prints the credential that it used.
    const message = status === 'error' ? `failed as ${script.leaks.join(' or ')}` : undefined
    this.#tell({ type: 'step.finished', step, try: 1, members: {}, exports: [], ...stepEnd(status), message, streams })
    observe({ ...run, at: clock.now(), type: 'step-ended', status })
    return status
  }

  /** Writes the output of the step in pieces over its duration. */
  async #say(step: string): Promise<void> {
    const { script, ref } = this.#options
    const { raw } = stepOutput(script, { ...ref, step })
    const durationMs = drawWithin(script.stepMs, script.seed, ref.buildId, ref.attempt, step, 'duration')
    const pieceBytes = Math.max(script.pieceBytes, Math.ceil(raw.length / MOST_PIECES))
    const pieces = Math.max(1, Math.ceil(raw.length / pieceBytes))
    const output = this.#reporter.output(stepStream(step))
    for (let n = 0; n < pieces; n += 1) {
      const bytes = raw.subarray(n * pieceBytes, (n + 1) * pieceBytes)
      if (bytes.length > 0) await output.write([{ source: 1, bytes }], this.#signal)
      await this.#pass(durationMs / pieces)
    }
    await output.end()
  }

  /** Sleeps, and returns earlier if the step is told to stop. */
  async #pass(ms: number): Promise<void> {
    const { clock, script } = this.#options
    const both = AbortSignal.any([this.#signal, this.#terminated.signal])
    if (ms > 0 && !this.#terminated.signal.aborted) {
      await clock.sleep(ms, both).catch(() => undefined)
      if (this.#terminated.signal.aborted) await clock.sleep(script.stopMs, this.#signal)
    }
    this.#signal.throwIfAborted()
  }
}

type Step = EngineClaimed['plan']['steps'][number]
type StepEnd = 'success' | 'error' | 'terminated'

/** The dependencies of a step: its predecessor in a serial plan, the steps of its `when` in a parallel one. */
function awaited({ after, when }: Step): string[] {
  return [...after, ...(when?.steps?.of ?? []).map(({ name }) => name)]
}

/** Rejects when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return promise
}

function stepEnd(status: StepEnd): Pick<Extract<EngineEventBody, { type: 'step.finished' }>, 'status' | 'reason' | 'exitCode'> {
  if (status === 'success') return { status, exitCode: 0 }
  if (status === 'error') return { status, reason: 'exit-code', exitCode: 1 }
  return { status, reason: 'cancelled' }
}

function isDone(status: string | undefined): boolean {
  return status === 'success' || status === 'skipped' || status === 'error' || status === 'terminated'
}

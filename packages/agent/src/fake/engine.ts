/**
 * An engine without containers: claims its attempt, walks the plan, writes seeded output, reports and obeys commands, all over HTTP as a
 * real one does. It dies where the script says so.
 */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { stepStream, type AttemptOutcome, type Client, type EngineClaimed, type EngineEventBody } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'
import { openLink, type Link } from './link.ts'
import { draw, drawWithin, stepOutput, stepOutputBytes, type CrashPoint, type FakeScript } from './script.ts'

/** What really happened, for a checker to compare with what the server has recorded. */
export type FakeObservation = AttemptRef & { readonly at: number } & (
    | { readonly type: 'pod-started' }
    /** `crashed`: died without a word; `killed`: by a stop or from outside; `ended`: by itself. */
    | { readonly type: 'pod-ended'; readonly how: 'ended' | 'crashed' | 'killed'; readonly point?: CrashPoint }
    | { readonly type: 'claimed' }
    | { readonly type: 'step-started'; readonly step: string }
    | { readonly type: 'step-ended'; readonly step: string; readonly status: 'success' | 'error' | 'terminated' }
    /** How the engine means to report its end, before it tries. */
    | { readonly type: 'finishing'; readonly status: AttemptOutcome['status'] }
    /** The server has acknowledged the end. */
    | { readonly type: 'finished'; readonly status: AttemptOutcome['status'] }
    | { readonly type: 'fenced' }
  )

export type Observe = (observation: FakeObservation) => void

export interface FakeEngineOptions {
  /** Carries the bootstrap credential. */
  readonly client: Client
  readonly ref: AttemptRef
  readonly script: FakeScript
  readonly clock: Clock
  readonly log: Logger
  readonly observe: Observe
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

type Step = EngineClaimed['plan']['steps'][number]
type StepEnd = 'success' | 'error' | 'terminated'

/** Runs one fake engine to its end. Throws `FakeCrash`, an abort, or a fault such as `claim-used` or `attempt-stale`. */
export async function runFakeEngine(options: FakeEngineOptions): Promise<void> {
  const { script, ref, signal, clock } = options
  await clock.sleep(drawWithin(script.startMs, script.seed, ref.buildId, ref.attempt, 'start'), signal)
  crash(options, 'before-claim')
  const claimKey = `fake-${ref.buildId}-${ref.attempt}`
  const link = await openLink({ client: options.client, clock, claimKey, frameBytes: script.frameBytes }, signal)
  options.observe({ ...ref, at: clock.now(), type: 'claimed' })
  crash(options, 'after-claim')
  await new FakeEngine(options, link).run()
}

/** Dies when the script says so. Each point is drawn once per attempt (`in-step` and `after-logs` once per step). */
function crash(options: FakeEngineOptions, point: CrashPoint, step = ''): void {
  const { script, ref } = options
  const chance = script.crashChance[point] ?? 0
  if (chance > 0 && draw(script.seed, ref.buildId, ref.attempt, point, step) < chance) throw new FakeCrash(point)
}

class FakeEngine {
  readonly #options: FakeEngineOptions
  readonly #link: Link
  /** Aborted by a terminate command. */
  readonly #terminated = new AbortController()
  /** Aborted when the engine is done or dead. */
  readonly #over = new AbortController()

  constructor(options: FakeEngineOptions, link: Link) {
    this.#options = options
    this.#link = link
  }

  async run(): Promise<void> {
    const signal = AbortSignal.any([this.#options.signal, this.#over.signal])
    const stale = Promise.withResolvers<never>()
    stale.promise.catch(() => undefined)
    const loops = [this.#heartbeats(signal, stale.reject), this.#commands(signal, stale.reject)]
    try {
      await Promise.race([this.#walk(this.#options.signal), stale.promise])
    } finally {
      this.#over.abort(new DOMException('the engine is over', 'AbortError'))
      await Promise.all(loops)
    }
  }

  async #walk(signal: AbortSignal): Promise<void> {
    const { plan, snapshot } = this.#link.claimed
    this.#say({ type: 'attempt.started', engineVersion: 'fake', docker: { version: 'fake', api: '1.45' }, volumeKept: true })
    if (this.#options.script.logBytes[1] > 0) this.#link.log('system', Buffer.from('fake engine\n'))
    let outcome: AttemptOutcome = { status: 'success' }
    for (const step of inOrder(plan.steps)) {
      const known = snapshot.steps[step.name]
      if (known?.reason === 'denied') outcome = { status: 'error', reason: 'denied', step: step.name }
      if (isDone(known?.status)) continue
      const isOver = outcome.status !== 'success' || this.#terminated.signal.aborted
      if (isOver) {
        this.#skip(step)
        if (outcome.status === 'success') outcome = { status: 'terminated', reason: 'cancelled' }
        continue
      }
      if (step.action.kind === 'pending-approval') {
        this.#say({ type: 'step.waiting', step: step.name, reason: 'approval' })
        outcome = { status: 'pending-approval', step: step.name }
        break
      }
      const end = await this.#runStep(step, signal)
      if (end === 'error') outcome = { status: 'error', reason: 'step-failed', step: step.name }
      if (end === 'terminated') outcome = { status: 'terminated', reason: 'cancelled', step: step.name }
    }
    crash(this.#options, 'before-finish')
    const { ref, clock, observe } = this.#options
    observe({ ...ref, at: clock.now(), type: 'finishing', status: outcome.status })
    this.#say({ type: 'attempt.finished', outcome, streams: this.#link.streams() })
    await this.#link.flush(signal)
    observe({ ...ref, at: clock.now(), type: 'finished', status: outcome.status })
    crash(this.#options, 'after-finish')
  }

  #say(event: EngineEventBody): void {
    this.#link.event(event)
  }

  #skip(step: Step): void {
    this.#say({
      type: 'step.finished',
      step: step.name,
      try: 0,
      status: 'skipped',
      reason: 'not-reached',
      members: {},
      exports: [],
    })
  }

  async #runStep(step: Step, signal: AbortSignal): Promise<StepEnd> {
    const { script, ref, clock, observe } = this.#options
    const ids = [ref.buildId, ref.attempt, step.name] as const
    observe({ ...ref, at: clock.now(), type: 'step-started', step: step.name })
    this.#say({ type: 'step.started', step: step.name, try: 1 })
    const durationMs = drawWithin(script.stepMs, script.seed, ...ids, 'duration')
    // A quiet step must not hide that it runs: with a duration, its start is told at once.
    if (durationMs > 0) await this.#link.flush(signal)
    crash(this.#options, 'in-step', step.name)
    const run = { seed: script.seed, ...ref, step: step.name }
    this.#link.log(stepStream(step.name), stepOutput(run, stepOutputBytes(script, run)))
    if (durationMs > 0) await this.#pass(durationMs, signal)
    signal.throwIfAborted()
    // Steps that take no time are told in one call at the end: that is what makes thousands of builds a minute.
    if (durationMs > 0 || script.crashChance['after-logs'] !== undefined) await this.#link.flush(signal)
    crash(this.#options, 'after-logs', step.name)
    const failed = draw(script.seed, ...ids, 'fail') < script.failChance
    const status: StepEnd = this.#terminated.signal.aborted ? 'terminated' : failed ? 'error' : 'success'
    this.#say({ type: 'step.finished', step: step.name, try: 1, members: {}, exports: [], ...stepEnd(status) })
    observe({ ...ref, at: clock.now(), type: 'step-ended', step: step.name, status })
    return status
  }

  /** Lets time pass, less when the step is told to stop. */
  async #pass(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, script } = this.#options
    const both = AbortSignal.any([signal, this.#terminated.signal])
    await clock.sleep(ms, both).catch(() => undefined)
    if (this.#terminated.signal.aborted) await clock.sleep(script.stopMs, signal)
  }

  async #heartbeats(signal: AbortSignal, fail: (error: unknown) => void): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      await clock.sleep(this.#link.claimed.limits.heartbeatMs, signal).catch(() => undefined)
      if (signal.aborted) return
      await this.#link.heartbeat(signal).catch((error: unknown) => this.#onLoopError(error, fail))
    }
  }

  async #commands(signal: AbortSignal, fail: (error: unknown) => void): Promise<void> {
    const { clock } = this.#options
    while (!signal.aborted) {
      try {
        for (const command of await this.#link.commands(30_000, signal))
          if (command.type === 'terminate') this.#terminated.abort(new DOMException(command.reason, 'AbortError'))
      } catch (error) {
        this.#onLoopError(error, fail)
        await clock.sleep(500, signal).catch(() => undefined)
      }
    }
  }

  #onLoopError(error: unknown, fail: (error: unknown) => void): void {
    if (isFault(error, 'attempt-stale', 'unauthenticated')) fail(error)
    else if (!isAbort(error)) this.#options.log.debug({ err: error, ...this.#options.ref }, 'fake engine call failed')
  }
}

function stepEnd(status: StepEnd): Pick<Extract<EngineEventBody, { type: 'step.finished' }>, 'status' | 'reason' | 'exitCode'> {
  if (status === 'success') return { status, exitCode: 0 }
  if (status === 'error') return { status, reason: 'exit-code', exitCode: 1 }
  return { status, reason: 'cancelled' }
}

function isDone(status: string | undefined): boolean {
  return status === 'success' || status === 'skipped' || status === 'error' || status === 'terminated'
}

/** Steps so that each comes behind those it waits for; the document's order otherwise. */
function inOrder(steps: readonly Step[]): Step[] {
  const ordered: Step[] = []
  const placed = new Set<string>()
  let left = [...steps]
  while (left.length > 0) {
    const next = left.find((step) => step.after.every((name) => placed.has(name))) ?? left[0]
    if (next === undefined) return ordered
    ordered.push(next)
    placed.add(next.name)
    left = left.filter((step) => step !== next)
  }
  return ordered
}

/** Follows one job from its pod to its final state at the coordinator. A job that another manager began is followed in the same way. */
import { defined, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import type { Coordinator } from '../coordinator/client.ts'
import type { FailureReason } from '../coordinator/failure-reasons.ts'
import { lifeOf } from '../pod/render.ts'
import type { Delivery } from '../trace/final-update.ts'
import { openTraceSender, type JobEnd, type TraceSender } from '../trace/trace-sender.ts'
import { cancelScript } from './pods/cancel-script.ts'
import { openNotes, type JobNotes } from './records/job-notes.ts'
import type { JobRecord, Note } from './records/job-record.ts'
import { readJobLog } from './pods/log-reader.ts'
import { podState, type PodState } from './pods/pod-state.ts'
import { forwardServiceLogs } from './pods/service-logs.ts'
import type { PodStarts } from './pods/pod-starts.ts'
import { PodTries } from './pods/pod-tries.ts'
import { readPod, type PodChange, type PodWatch } from './pods/pod-watch.ts'
import { endLine, failureText, jobEnd, openTraceWriter, type TraceWriter } from './trace-writer.ts'

export interface FollowOptions {
  readonly record: JobRecord
  /** Lines that managers have added to the trace so far. */
  readonly notes: readonly Note[]
  /** Namespace of the record. */
  readonly home: string
  readonly kube: Kube
  readonly coordinator: Pick<Coordinator, 'patchTrace' | 'updateJob'>
  readonly pods: PodWatch
  readonly starts: PodStarts
  /** Folder for the spool of the trace. */
  readonly spoolFolder: string
  readonly finalRetryLimit?: number | undefined
  /** Time in which the pod must run. Milliseconds. */
  readonly startMs: number
  /** Time between two reads of the pod by an account that may not watch it. Milliseconds. */
  readonly pollMs: number
  /** Replaces the pod by one with the next pull policy. Undefined, or resolves to false, if there is none. */
  readonly nextPod?: (() => Promise<boolean>) | undefined
  /** Called when the state that users see changes. */
  readonly onState?: (state: 'preparing' | 'running' | 'ending', why: string) => void
  /** Called once when the pod runs. The signal is aborted when the job has ended. */
  readonly onRunning?: (pod: ObjectRef, over: AbortSignal) => void
  /** Aborted to end the job as interrupted: the manager stops. */
  readonly interrupted: AbortSignal
  /** Aborted to leave the job to another manager. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly log: Logger
}

export type Followed =
  /** It has ended, and its pod is not needed any more. `failure`: why, as `endLine` takes it. */
  | {
      readonly type: 'ended'
      readonly end: JobEnd | undefined
      readonly delivery: Delivery
      readonly failure?: string | undefined
      /** True if its log has its end, so its processes have ended. */
      readonly hasRun: boolean
    }
  /** Another manager follows it. */
  | { readonly type: 'left' }

interface Ending {
  readonly end: JobEnd
  /** Undefined for success. */
  readonly failure: string | undefined
  /** Microseconds since the epoch. */
  readonly at: number
  readonly hasRun: boolean
}

/** Time before a waiting pod is mentioned in the trace, and number of such lines. */
const MENTION_MS = 3_000
const MAX_MENTIONS = 20
/** Time after the life of a pod in which its log is still waited for, for a cluster that is away. Seconds. */
const LOST_S = 600
/** Silence of the log after which a job whose container has ended is lost. The log of a long job takes time to read again. Milliseconds. */
const OVER_MS = 120_000
/** Time for the rest of the log of a pod that has failed. Milliseconds. */
const REST_MS = 500

/** Follows a job. Never rejects for what happens to the job, the cluster or the coordinator. */
export async function followJob(options: FollowOptions): Promise<Followed> {
  return new Following(options).run()
}

class Following {
  readonly #options: FollowOptions
  readonly #pod: ObjectRef
  readonly #sender: TraceSender
  readonly #writer: TraceWriter
  readonly #notes: JobNotes
  readonly #tries: PodTries
  readonly #ending = Promise.withResolvers<Ending | 'aborted' | 'left'>()
  /** Aborted when the job has ended in any way. */
  readonly #over = new AbortController()
  readonly #startedAt: number
  #state: PodState = { type: 'pending', why: 'Waiting for the pod', isPlaced: false }
  #mentions = 0
  #mentioned = ''
  #isReading = false
  #isCanceling = false
  #showsServices = false
  /** True once the container of the job has ended. */
  #isOver = false
  /** True once the script of the job has begun. */
  #hasBegun = false
  /** Time of the last output. Monotonic. */
  #heardAt = 0

  constructor(options: FollowOptions) {
    const { record, home, coordinator, spoolFolder, finalRetryLimit, clock, log } = options
    this.#options = options
    this.#pod = { kind: 'Pod', name: record.pod, namespace: record.namespace ?? home }
    this.#startedAt = clock.monotonic()
    this.#sender = openTraceSender({
      coordinator,
      jobId: record.jobId,
      jobToken: record.jobToken,
      folder: spoolFolder,
      supportedReasons: record.supportedReasons,
      debug: record.isDebug,
      ...defined({ finalRetryLimit }),
      clock,
      log,
      onCanceling: () => void this.#cancel(),
      onAbort: () => this.#ending.resolve('aborted'),
    })
    this.#writer = openTraceWriter(record, (bytes) => this.#sender.append(bytes))
    const write = (note: Note): void => this.#writer.note(note)
    this.#notes = openNotes({ ...options, name: record.pod, namespace: home, signal: this.#over.signal, write })
    this.#tries = new PodTries({
      clock,
      nextPod: options.nextPod,
      note: (text) => this.#note(text),
      lose: (message, reason) => this.#lose(message, reason),
    })
  }

  async run(): Promise<Followed> {
    const { record, clock, interrupted, signal, pods, pollMs } = this.#options
    this.#whenAborted(signal, () => this.#ending.resolve('left'))
    this.#whenAborted(interrupted, () => this.#fail('runner_interrupted', ': aborted: terminated'))
    const unfollow = pods.follow(record.pod, pollMs, (change) => this.#learn(change))
    void this.#look()
    void this.#watchWaiting()
    void clock.sleep((lifeOf(record) + LOST_S) * 1_000, this.#over.signal).then(
      () => this.#lose(`the log of the job in the pod ${this.#shownPod} could not be read to its end`),
      () => undefined,
    )

    const ending = await this.#ending.promise
    this.#over.abort()
    unfollow()
    this.#options.starts.set(record.pod, false)
    if (ending === 'left') {
      await this.#sender.close()
      return { type: 'left' }
    }
    this.#options.onState?.('ending', '')
    if (ending === 'aborted') {
      await this.#sender.close()
      return { type: 'ended', end: undefined, delivery: { type: 'aborted', reason: 'GitLab ended the job' }, hasRun: false }
    }
    this.#writer.end({ at: ending.at, text: endLine(ending.failure) })
    return this.#deliver(ending)
  }

  /** Calls back when a signal is aborted before the job has ended. The signals live longer than the job. */
  #whenAborted(signal: AbortSignal, call: () => void): void {
    if (signal.aborted) call()
    else signal.addEventListener('abort', call, { once: true, signal: this.#over.signal })
  }

  async #deliver({ end, failure, hasRun }: Ending): Promise<Followed> {
    const { signal } = this.#options
    const close = (): void => void this.#sender.close()
    if (signal.aborted) close()
    signal.addEventListener('abort', close, { once: true })
    const delivery = await this.#sender.finish(end)
    signal.removeEventListener('abort', close)
    return signal.aborted && delivery.type === 'aborted' ? { type: 'left' } : { type: 'ended', end, delivery, failure, hasRun }
  }

  /** Reads the pod once, because the watch tells only changes from now on. */
  async #look(): Promise<void> {
    const { kube, clock } = this.#options
    const change = await readPod({ kube, pod: this.#pod, clock, signal: this.#over.signal })
    if (change !== undefined) this.#learn(change)
  }

  #learn(change: PodChange): void {
    const uid = change.pod?.metadata.uid
    if (!this.#tries.isCurrent(uid)) return
    if (change.type === 'gone') {
      if (!this.#tries.isComing) this.#lose(`the pod ${this.#shownPod} does not exist any more`)
      return
    }
    this.#tries.take(uid)
    this.#state = podState(change.pod)
    this.#noteStart()
    this.#act(change.pod)
  }

  /** Notes whether the pod is on its way to the script of the job. */
  #noteStart(): void {
    const { type } = this.#state
    const isComing = type === 'running' || (type === 'pending' && this.#state.isPlaced)
    this.#options.starts.set(this.#pod.name, isComing && !this.#hasBegun)
  }

  /** The container of the script has written something: it begins with its first command. */
  #begun(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#noteStart()
  }

  get #shownPod(): string {
    return `${this.#pod.namespace ?? ''}/${this.#pod.name}`
  }

  #act(pod: KubeObject): void {
    const state = this.#state
    if (state.type === 'failed') {
      this.#lose(state.message, state.reason)
      return
    }
    if (state.type === 'image') {
      this.#imageProblem(state)
      return
    }
    if (state.type === 'pending') {
      this.#options.onState?.('preparing', state.why)
      if (this.#isCanceling) this.#fail('job_canceled', ': canceled')
      return
    }
    if (state.isOver && !this.#isOver) {
      this.#isOver = true
      void this.#untilSilent()
    }
    if (this.#isReading) return
    this.#isReading = true
    this.#options.onState?.('running', `Running in the pod ${pod.metadata.name}`)
    this.#options.onRunning?.(this.#pod, this.#over.signal)
    if (this.#isCanceling) void this.#cancel()
    void this.#read()
  }

  /** Ends a job whose container has ended, when its log has been silent for long: a job that ends by itself writes a last frame. */
  async #untilSilent(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#over
    this.#heardAt = clock.monotonic()
    while (!signal.aborted && clock.monotonic() - this.#heardAt < OVER_MS) await clock.sleep(1_000, signal).catch(() => undefined)
    if (!signal.aborted) this.#lose('the container build has ended before the job')
  }

  async #read(): Promise<void> {
    const { kube, clock, log, record } = this.#options
    // A line of the manager precedes all lines of the pod, as a manager that adopts the job will write it.
    await this.#notes.stored()
    try {
      for await (const frames of readJobLog({ kube, pod: this.#pod, clock, log, signal: this.#over.signal })) {
        this.#showServices()
        for (const one of frames) {
          this.#heardAt = clock.monotonic()
          if (this.#over.signal.aborted) return
          if (one.kind === 'work') this.#begun()
          const result = this.#writer.frame(one)
          if (result === undefined) continue
          this.#ending.resolve({ end: jobEnd(result), failure: failureText(result, record), at: one.at, hasRun: true })
          return
        }
      }
    } catch (error) {
      this.#fail('runner_system_failure', ` (system failure): ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  /** Begins to forward the output of services. The first frame tells that the helper has made the log. */
  #showServices(): void {
    if (this.#showsServices) return
    this.#showsServices = true
    const { kube, clock, log, record } = this.#options
    void forwardServiceLogs({ kube, pod: this.#pod, services: record.shownServices, clock, log, signal: this.#over.signal })
  }

  /** The pod has failed. What its log still has is read first. */
  #lose(message: string, reason: FailureReason = 'runner_system_failure'): void {
    const fail = (): void => this.#fail(reason, `${reason === 'runner_system_failure' ? ' (system failure)' : ''}: ${message}`)
    if (!this.#isReading) fail()
    else void this.#options.clock.sleep(REST_MS, this.#over.signal).then(fail, () => undefined)
  }

  #fail(reason: FailureReason, text: string): void {
    const at = this.#options.clock.now() * 1_000
    this.#ending.resolve({ end: { state: 'failed', failureReason: reason }, failure: text, at, hasRun: false })
  }

  #imageProblem(state: Extract<PodState, { type: 'image' }>): void {
    this.#options.onState?.('preparing', `The image ${state.image} cannot be pulled: ${state.message}`)
    this.#tries.problem(state)
  }

  /** Says in the trace why the job waits, and ends a job whose pod does not start in time. */
  async #watchWaiting(): Promise<void> {
    const { clock, startMs } = this.#options
    const { signal } = this.#over
    while (!signal.aborted && !this.#isReading) {
      await clock.sleep(1_000, signal).catch(() => undefined)
      if (signal.aborted || this.#isReading) return
      const waitedMs = clock.monotonic() - this.#startedAt
      const state = this.#state
      if (state.type === 'image') this.#imageProblem(state)
      const why = state.type === 'pending' ? state.why : ''
      if (waitedMs >= startMs) {
        this.#fail('runner_system_failure', ` (system failure): timed out waiting for pod to start (${why})`)
        return
      }
      if (waitedMs < MENTION_MS || why === '' || why === this.#mentioned || this.#mentions >= MAX_MENTIONS) continue
      this.#mentioned = why
      this.#mentions += 1
      await this.#note(why)
    }
  }

  /** Adds a line to the trace of a pod that does not run yet. */
  #note(text: string): Promise<void> {
    return this.#isReading ? Promise.resolve() : this.#notes.add(text)
  }

  /** Ends the script of the job. A job that has not begun ends at once. */
  async #cancel(): Promise<void> {
    this.#isCanceling = true
    const { kube, clock, log, record } = this.#options
    if (!this.#isReading) {
      // A pod that is not known yet may run: the manager has just taken the job over.
      if (this.#tries.isKnown) this.#fail('job_canceled', ': canceled')
      return
    }
    log.info({ job: record.jobId }, 'the job is canceled')
    await cancelScript({ kube, pod: this.#pod, jobId: record.jobId, clock, log, signal: this.#over.signal })
  }
}

/**
 * Parsing, validation and compilation of user documents. Large documents are processed in a child process with limits for time and memory, so that none
 * can block the event loop, exhaust the memory of the server or crash it. Callers take turns. The process ends when it is idle.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { fault, type Clock, type Fault, type Logger } from '@windlass/kit'
import { Callers, type CallerLimits } from './caller-limits.ts'
import { isSmall, JOBS, PROCESS_JOBS, type JobName, type Jobs } from './document-jobs.ts'
import { DocumentProcess, type Exit } from './document-process.ts'
import type { Order, Reply } from './document-worker.ts'

export interface DocumentLimits extends CallerLimits {
  /** Maximum CPU time, and maximum wall-clock time including the start of the process, for one document. Milliseconds. */
  readonly documentMs: number
  readonly documentWallMs: number
  /** Heap limit of the process. MiB. */
  readonly heapMiB: number
  /** Idle time after which the process ends. Milliseconds. */
  readonly idleMs: number
}

export const DOCUMENT_LIMITS: DocumentLimits = {
  callsAtOnce: 10,
  bytesAtOnce: 8_388_608,
  msPerMinute: 20_000,
  documentMs: 5_000,
  documentWallMs: 60_000,
  heapMiB: 104,
  idleMs: 30_000,
}

type Input<K extends JobName> = Parameters<Jobs[K]>[0]
type Output<K extends JobName> = ReturnType<Jobs[K]>

interface QueuedJob {
  readonly order: Order
  readonly caller: string
  readonly chars: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

interface Current {
  readonly work: QueuedJob
  readonly end: AbortController
  /** Set when the document was sent to the process. Ends the measurement of the CPU time in it. */
  sent?: AbortController
  /** True if a process was killed before it answered. */
  wasKilled?: true
  /** CPU time of the process when it received the document. Milliseconds. */
  begunMs?: number
}

/** Minimum interval between checks of the CPU time. Milliseconds. */
const MIN_CHECK_MS = 50

/** Caller of jobs outside a request, to which no limits apply. */
const SERVER = 'server'

const SCRIPT = new URL('./document-worker.ts', import.meta.url)

export class DocumentPool {
  private readonly clock: Clock
  private readonly log: Logger
  private readonly limits: DocumentLimits
  private readonly callers: Callers
  private readonly context = new AsyncLocalStorage<string>()
  /** Queued jobs by caller. The caller that was served last is at the end. */
  private readonly waiting = new Map<string, QueuedJob[]>()
  private process: DocumentProcess | undefined
  private current: Current | undefined
  /** Set while the old process ends. The next one starts after that, because two heaps would need twice the memory. */
  private ending: Promise<unknown> | undefined
  private idle: NodeJS.Timeout | undefined
  private isClosed = false
  private readonly script: URL

  constructor(clock: Clock, log: Logger, limits: Partial<DocumentLimits> = {}, script = SCRIPT) {
    this.script = script
    this.clock = clock
    this.log = log
    this.limits = { ...DOCUMENT_LIMITS, ...limits }
    this.callers = new Callers(clock, this.limits)
  }

  /** Starts a call with a document in a body of `bytes`. The returned function ends it. Throws `rate-limited`. */
  enter(caller: string, bytes: number): () => void {
    return this.callers.enter(caller, bytes)
  }

  /** Runs `work` and counts its documents for `caller`. */
  as<T>(caller: string, work: () => Promise<T>): Promise<T> {
    return this.context.run(caller, work)
  }

  /**
   * Runs a job on a document: a small one at once, a large one and those of `PROCESS_JOBS` in the process when it is the caller's turn. `where` is
   * `process` for documents that use other, possibly large documents. Throws what the job throws, `document-too-expensive`, `rate-limited`, and
   * `unavailable` if the server is too busy.
   */
  async read<K extends JobName>(job: K, input: Input<K>, text: string, where: 'any' | 'process' = 'any'): Promise<Output<K>> {
    const caller = this.context.getStore() ?? SERVER
    if (caller !== SERVER) this.callers.checkTime(caller)
    return where === 'any' && !PROCESS_JOBS.includes(job) && isSmall(text)
      ? this.runHere(job, input, caller)
      : this.run(job, input, { caller, chars: text.length })
  }

  private runHere<K extends JobName>(job: K, input: Input<K>, caller: string): Output<K> {
    const before = process.threadCpuUsage()
    try {
      return (JOBS[job] as (input: Input<K>) => Output<K>)(input)
    } finally {
      this.callers.spend(caller, toMs(process.threadCpuUsage(before)))
    }
  }

  private async run<K extends JobName>(job: K, input: Input<K>, of: Pick<QueuedJob, 'caller' | 'chars'>): Promise<Output<K>> {
    if (this.isClosed) throw fault('unavailable', { message: 'The server is closing.' })
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const queue = this.waiting.get(of.caller)
    const work: QueuedJob = { order: { job, input }, ...of, resolve, reject }
    if (queue === undefined) this.waiting.set(of.caller, [work])
    else queue.push(work)
    this.next()
    return (await promise) as Output<K>
  }

  /** Ends the process and rejects queued jobs. */
  async close(): Promise<void> {
    this.isClosed = true
    const waiting = [...this.waiting.values()].flat()
    this.waiting.clear()
    const closing = fault('unavailable', { message: 'The server is closing.' })
    for (const { reject } of waiting) reject(closing)
    this.settle(0, ({ reject }) => reject(closing))
    await this.endProcess()
  }

  private next(): void {
    clearTimeout(this.idle)
    if (this.current !== undefined || this.ending !== undefined || this.isClosed) return
    const work = this.nextJob()
    if (work === undefined) {
      this.idle = setTimeout(() => void this.endProcess(), this.limits.idleMs).unref()
      return
    }
    this.current = { work, end: new AbortController() }
    void this.limitWall(this.current)
    if (this.process === undefined) this.startProcess()
    else this.begin()
  }

  /** Removes and returns the next job of the caller that has waited longest. */
  private nextJob(): QueuedJob | undefined {
    for (const [caller, queue] of this.waiting) {
      this.waiting.delete(caller)
      const work = queue.shift()
      if (queue.length > 0) this.waiting.set(caller, queue)
      if (work !== undefined) return work
    }
    return undefined
  }

  private startProcess(): void {
    const started = new DocumentProcess(this.script, this.limits.heapMiB, {
      reply: (reply) => {
        if (started === this.process) this.handleReply(reply)
      },
      exit: (exit) => {
        if (started === this.process) this.handleExit(exit)
      },
    })
    this.process = started
  }

  /** Sends the current document to the process and starts to measure its CPU time. */
  private begin(): void {
    const { current } = this
    if (current === undefined) return
    this.process?.send(current.work.order)
    current.sent = new AbortController()
    void this.watch(current, AbortSignal.any([current.end.signal, current.sent.signal]))
  }

  /** Aborts a document that has used its CPU time. Wall-clock time would not be fair on a busy machine. */
  private async watch(current: Current, over: AbortSignal): Promise<void> {
    const { process: child, clock } = this
    const { documentMs } = this.limits
    const cpuMs = async (): Promise<number> => (await child?.cpuMs()) ?? 0
    const begun = await cpuMs()
    current.begunMs = begun
    for (let used = 0; used < documentMs; used = (await cpuMs()) - begun) {
      if (!(await slept(clock, Math.max(MIN_CHECK_MS, documentMs - used), over))) return
    }
    this.abortJob(current.work, tooExpensive(`Processing did not finish within ${documentMs / 1000} s.`), documentMs)
  }

  /** Aborts a document that got too little CPU time. This is not an error of the document. */
  private async limitWall(current: Current): Promise<void> {
    if (!(await slept(this.clock, this.limits.documentWallMs, current.end.signal))) return
    const { begunMs } = current
    const used = begunMs === undefined ? 0 : Math.max(0, ((await this.process?.cpuMs()) ?? 0) - begunMs)
    this.abortJob(current.work, tooBusy(), used)
  }

  private handleReply(reply: Reply): void {
    if ('ready' in reply) return this.begin()
    this.settle(reply.cpuMs, ({ resolve, reject }) => {
      if ('json' in reply) resolve(JSON.parse(reply.json))
      else if ('fault' in reply) reject(fault(reply.fault, reply.details))
      else reject(new Error(reply.error))
    })
    this.next()
  }

  /** Rejects the current document and ends the process. The next document gets a new process. */
  private abortJob(work: QueuedJob, answer: Fault, cpuMs: number): void {
    if (this.current?.work !== work) return
    this.log.warn({ caller: work.caller, job: work.order.job, chars: work.chars }, answer.message)
    this.settle(cpuMs, ({ reject }) => reject(answer))
    void this.endProcess()
  }

  /** Handles a process that did not start, or that ended by itself: out of memory, or because of a bug. */
  private handleExit(exit: Exit): void {
    this.process = undefined
    const { current } = this
    const why = reasonOf(exit)
    this.log.warn({ caller: current?.work.caller, chars: current?.work.chars, ...exit }, why.message)
    // The CPU time of a process that is gone is unknown. A document that gets processes killed must not cost its caller less than one that is too expensive.
    const isCounted = exit.how === 'full' || (exit.how === 'killed' && current?.sent !== undefined)
    const cpuMs = isCounted ? this.limits.documentMs : 0
    if (exit.how === 'killed' && current !== undefined && current.wasKilled !== true) return this.repeat(current, cpuMs)
    this.settle(cpuMs, ({ reject }) => reject(why))
    this.next()
  }

  /** Starts another process for the current document. Its limit of wall-clock time includes both processes. */
  private repeat(current: Current, cpuMs: number): void {
    this.callers.spend(current.work.caller, cpuMs)
    current.sent?.abort()
    delete current.sent
    delete current.begunMs
    current.wasKilled = true
    this.startProcess()
  }

  /** Responds to the caller of the current document and counts the CPU time. */
  private settle(cpuMs: number, respond: (work: QueuedJob) => void): void {
    const { current } = this
    if (current === undefined) return
    this.current = undefined
    current.end.abort()
    this.callers.spend(current.work.caller, cpuMs)
    respond(current.work)
  }

  private async endProcess(): Promise<void> {
    const child = this.process
    this.process = undefined
    if (child !== undefined) this.ending = child.end().finally(() => (this.ending = undefined))
    await this.ending
    this.next()
  }
}

function reasonOf(exit: Exit): Error {
  if (exit.how === 'full') return tooExpensive('Processing exceeded the memory limit.')
  if (exit.how === 'not-started') return tooBusy(exit.err)
  if (exit.how === 'killed')
    return fault('unavailable', {
      message: 'The process that reads documents was killed.',
      hint: 'Retry in a moment. If the error persists, increase the memory of the server.',
    })
  return new Error('the document process ended unexpectedly', { cause: exit.err })
}

function toMs({ user, system }: { readonly user: number; readonly system: number }): number {
  return (user + system) / 1000
}

function tooExpensive(why: string): Fault {
  return fault('document-too-expensive', { message: `${fault('document-too-expensive').message} ${why}` })
}

function tooBusy(cause?: unknown): Fault {
  return fault('unavailable', { message: 'The server is too busy to process the document.' }, cause)
}

/** Returns false if the signal ended the sleep. */
function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return clock.sleep(ms, signal).then(
    () => true,
    () => false,
  )
}

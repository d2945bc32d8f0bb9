/**
 * The agent of a platform that speaks protocol v1 (runner specification 2): it polls, carries tasks out workflow by workflow, reports, and
 * says that it is alive. Tasks in hand and reports survive kill -9 (`ledger.ts`). Not here: protocol v2 (`../agent.ts`).
 */
import { isAbort, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import type { Transport } from '@windlass/protocol'
import type { Agent } from '../agent.ts'
import { carryOut, type V1Cluster } from './carry-out.ts'
import { aloneLeadership, type Leadership, type Term } from './leadership.ts'
import { openLedger, type Ledger } from './ledger.ts'
import { openMetrics, type Metrics } from './metrics.ts'
import { openOutbox, pauseMs, type Outbox } from './outbox.ts'
import type { Platform } from './platform.ts'
import { runAgentTask } from './proxy-task.ts'
import { readTasks, toStatus, type TaskOutcome, type V1Task } from './shapes.ts'
import { isCreate, splitTasks, type Batch } from './split.ts'
import { openLaneGroups, openLanes, type LaneGroups, type Lanes } from './workflows.ts'

export interface V1Options {
  readonly platform: Platform
  readonly clusterOf: (runtime: string) => V1Cluster | undefined
  /** Where tasks in hand and unsent reports are kept. */
  readonly stateDir: string
  /** Carries requests to app-proxies. */
  readonly transport: Transport
  readonly leadership?: Leadership | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly pollMs?: number | undefined
  readonly heartbeatMs?: number | undefined
  /** Of each runtime: workflows at once, and batches that wait before no more are pulled. */
  readonly concurrency?: number | undefined
  readonly buffer?: number | undefined
  readonly forceDeletePvc?: boolean | undefined
}

export interface V1Agent extends Agent {
  metrics(): Promise<string>
}

/** Agent tasks at once. */
const AGENT_TASKS = 20

/** Starts polling. Throws `config-invalid` when the state folder cannot be written. */
export function startV1Agent(options: V1Options): V1Agent {
  return new PollingAgent(options)
}

interface Pulled {
  readonly batch: Batch
  readonly pulledAt: number
}

class PollingAgent implements V1Agent {
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  readonly #options: V1Options
  readonly #clock: Clock
  readonly #log: Logger
  readonly #polling = new AbortController()
  readonly #running = new AbortController()
  readonly #heard = Promise.withResolvers<void>()
  readonly #ledger: Ledger
  readonly #outbox: Outbox
  readonly #workflows: LaneGroups<Pulled>
  readonly #agentTasks: Lanes<V1Task>
  readonly #metrics: Metrics
  #heardAt = 0
  #trouble: string | undefined
  #isLeader = false

  constructor(options: V1Options) {
    const { clock, log, platform } = options
    this.#options = options
    this.#clock = clock
    this.#log = log
    this.#ledger = openLedger(options.stateDir)
    this.#outbox = openOutbox({ ledger: this.#ledger, platform, clock, log })
    const [concurrency, buffer] = [options.concurrency ?? 50, options.buffer ?? 1_000]
    this.#workflows = openLaneGroups({ concurrency, buffer, work: (pulled) => this.#carryOut(pulled) })
    this.#agentTasks = openLanes({ concurrency: AGENT_TASKS, buffer, work: (task) => this.#runAgentTask(task) })
    this.#metrics = openMetrics({
      queued: () => this.#workflows.waiting,
      unsent: () => this.#ledger.unsentCount(),
      isLeader: () => this.#isLeader,
    })
    this.ready = this.#heard.promise
    this.ready.catch(() => undefined)
    this.ended = this.#run()
    this.ended.catch(() => undefined)
  }

  status(): ReturnType<Agent['status']> {
    const tasks = this.#workflows.waiting + this.#workflows.running + this.#agentTasks.waiting + this.#agentTasks.running
    const isStandby = !this.#isLeader && !this.#polling.signal.aborted
    return { tasks, facts: this.#ledger.unsentCount(), epoch: 0, heardAt: isStandby ? this.#clock.now() : this.#heardAt }
  }

  metrics(): Promise<string> {
    return this.#metrics.registry.metrics()
  }

  async idle(): Promise<void> {
    await Promise.all([this.#workflows.idle(), this.#agentTasks.idle()])
    this.#outbox.wake()
    await this.#outbox.empty()
  }

  /** Polls no more, finishes what was pulled and reports it, and only then stops; the grace of the pod is the limit. */
  async close(graceMs?: number): Promise<void> {
    if (this.#running.signal.aborted) return this.ended.catch(() => undefined)
    this.#polling.abort(new DOMException('the agent is closed', 'AbortError'))
    const grace = new AbortController()
    const limit = graceMs === undefined ? [] : [this.#clock.sleep(graceMs, grace.signal).catch(() => undefined)]
    await Promise.race([this.idle(), ...limit])
    grace.abort()
    this.#running.abort(new DOMException('the agent is closed', 'AbortError'))
    await this.ended.catch(() => undefined)
  }

  async #run(): Promise<void> {
    try {
      this.#resume()
      await Promise.all([this.#outbox.run(this.#running.signal), this.#lead()])
    } finally {
      this.#running.abort()
      this.#heard.reject(new DOMException('the agent is closed', 'AbortError'))
      await Promise.all([this.#workflows.idle(), this.#agentTasks.idle()])
      this.#ledger.close()
    }
  }

  /**
   * What an earlier process left. Deletions are carried out: they harm nobody. A create may be unwanted by now, so the platform is told
   * that it was not done and sends it again if it still wants it.
   */
  #resume(): void {
    const left = this.#ledger.unfinished()
    const reason = 'the agent was restarted before the task was carried out'
    for (const task of left.filter((each) => isCreate(each) || each.type === 'AgentTask'))
      this.#finish(task, { ok: false, isRetriable: true, reason })
    this.#enqueue(left.filter((task) => !isCreate(task) && task.type !== 'AgentTask')).catch(() => undefined)
  }

  async #lead(): Promise<void> {
    while (!this.#polling.signal.aborted) {
      const term = await this.#acquire()
      if (term === undefined) return
      this.#isLeader = true
      const signal = AbortSignal.any([this.#polling.signal, term.signal])
      await Promise.all([this.#pollLoop(signal), this.#heartbeatLoop(AbortSignal.any([this.#running.signal, term.signal]))])
      this.#isLeader = false
      await term.end()
    }
  }

  /** The right to poll; undefined when the agent is closed meanwhile. */
  async #acquire(): Promise<Term | undefined> {
    try {
      return await (this.#options.leadership ?? aloneLeadership()).acquire(this.#polling.signal)
    } catch (error) {
      if (!isFault(error)) return undefined
      this.#log.warn({ err: error }, 'no lease can be held, so run one replica only')
      return aloneLeadership().acquire(this.#polling.signal)
    }
  }

  async #pollLoop(signal: AbortSignal): Promise<void> {
    const pollMs = this.#options.pollMs ?? 3_000
    for (let failures = 0; !signal.aborted;) {
      const startedAt = this.#clock.monotonic()
      const error = await this.#poll(signal)
      if (signal.aborted) return
      failures = error === undefined ? 0 : failures + 1
      const took = this.#clock.monotonic() - startedAt
      const wait = error === undefined ? Math.max(0, pollMs - took) : Math.max(pollMs, pauseMs(error, failures))
      await this.#clock.sleep(wait, signal).catch(() => undefined)
    }
  }

  /** One poll; answers what went wrong. */
  async #poll(signal: AbortSignal): Promise<unknown> {
    const startedAt = this.#clock.monotonic()
    try {
      const answer = readTasks(await this.#options.platform.tasks(signal))
      this.#metrics.polled(true, this.#clock.monotonic() - startedAt)
      this.#heardAt = this.#clock.now()
      this.#trouble = undefined
      this.#heard.resolve()
      for (const { task, words } of answer.broken) this.#refuse(task, `the task cannot be read: ${words}`)
      if (answer.lost > 0) this.#log.error({ count: answer.lost }, 'what the platform sent is no task and says not whose it is')
      await this.#enqueue(this.#ledger.accept(answer.tasks))
      return undefined
    } catch (error) {
      if (isAbort(error)) return undefined
      this.#metrics.polled(false, this.#clock.monotonic() - startedAt)
      this.#trouble = error instanceof Error ? error.message : String(error)
      this.#log.warn({ err: error }, 'poll failed')
      return error
    }
  }

  async #enqueue(tasks: readonly V1Task[]): Promise<void> {
    if (tasks.length === 0) return
    const { batches, agentTasks, refused } = splitTasks(tasks)
    for (const { task, reason } of refused) this.#refuse(task, reason)
    const count = batches.reduce((sum, batch) => sum + batch.tasks.length, 0)
    this.#metrics.pulled({ agentTasks: agentTasks.length, clusterTasks: count })
    this.#log.info(
      { workflows: batches.length, tasks: count, agentTasks: agentTasks.length, queued: this.#workflows.waiting },
      'pulled',
    )
    const pulledAt = this.#clock.monotonic()
    for (const task of agentTasks) await this.#agentTasks.add(task._id, task)
    for (const batch of batches) await this.#workflows.add(batch.runtime, batch.workflowId, { batch, pulledAt })
  }

  #refuse(task: V1Task, reason: string): void {
    this.#log.error({ taskId: task._id, type: task.type, reason }, 'task refused')
    this.#ledger.accept([task])
    this.#finish(task, { ok: false, isRetriable: false, reason })
  }

  async #carryOut(pulled: Pulled): Promise<void> {
    const { clusterOf, forceDeletePvc = false, clock, log } = this.#options
    const report = (task: V1Task, outcome: TaskOutcome): void => this.#finish(task, outcome)
    const parts = { clusterOf, forceDeletePvc, metrics: this.#metrics, clock, log, report }
    await carryOut(parts, pulled, this.#running.signal)
  }

  async #runAgentTask(task: V1Task): Promise<void> {
    const startedAt = this.#clock.monotonic()
    const outcome = await runAgentTask(this.#options, task, this.#running.signal)
    this.#metrics.agentTaskDone(task.type, this.#clock.monotonic() - startedAt)
    if (!outcome.ok) this.#log.warn({ taskId: task._id, reason: outcome.reason }, 'agent task failed')
    this.#finish(task, outcome)
  }

  /** An outcome that came about because the process ends is none: the next process finds the task in the ledger. */
  #finish(task: V1Task, outcome: TaskOutcome): void {
    if (!outcome.ok && this.#running.signal.aborted) return
    const status = task.metadata.shouldReportStatus ? toStatus(task, outcome, this.#clock.now()) : undefined
    this.#ledger.finish(task, status)
    this.#outbox.wake()
  }

  async #heartbeatLoop(signal: AbortSignal): Promise<void> {
    for await (const _ of ticks(this.#options.heartbeatMs ?? 10_000, { clock: this.#clock, signal })) {
      const message = this.#trouble === undefined ? 'All good' : `Polls fail: ${this.#trouble}`.slice(0, 500)
      await this.#options.platform.heartbeat(message, signal).catch((error: unknown) => {
        if (!isAbort(error)) this.#log.warn({ err: error }, 'heartbeat failed')
      })
    }
  }
}

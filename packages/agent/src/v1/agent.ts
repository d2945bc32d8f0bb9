/**
 * The agent of protocol v1: it polls the platform, carries out tasks workflow by workflow, reports their outcomes and sends heartbeats. Tasks in
 * progress and reports survive kill -9 (package `work`). Protocol v2 is in `../agent.ts`.
 */
import { isAbort, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import type { Transport } from '@windlass/protocol'
import { openWork, retryDelayMs, type Batch, type Run, type Unit, type Work } from '@windlass/work'
import { withoutElection, type Leadership } from '@windlass/kube'
import type { Agent } from '../agent.ts'
import { carryOut, type CarryOutOptions, type V1Cluster } from './carry-out.ts'
import { openMetrics, type Metrics } from './metrics.ts'
import type { Platform } from './platform.ts'
import { runAgentTask } from './proxy-task.ts'
import { readTasks, TaskStatusShape, toStatus, V1Task, type TaskOutcome, type TaskStatus } from './shapes.ts'
import { isCreate, splitTasks, toBatch } from './split.ts'
import { openTerminations } from './terminations.ts'

export interface V1Options {
  readonly platform: Platform
  readonly clusterOf: (runtime: string) => V1Cluster | undefined
  /** Folder of tasks in progress and unsent reports. */
  readonly stateDir: string
  /** Forwards requests to the app-proxies in `appProxies`; to none if that is absent. */
  readonly transport: Transport
  readonly appProxies?: readonly string[] | undefined
  readonly leadership?: Leadership | undefined
  readonly clock: Clock
  readonly log: Logger
  readonly pollMs?: number | undefined
  readonly heartbeatMs?: number | undefined
  /** Per runtime: workflows processed at once, and batches queued before polling stops. */
  readonly concurrency?: number | undefined
  readonly buffer?: number | undefined
  readonly forceDeletePvc?: boolean | undefined
}

export interface V1Agent extends Agent {
  metrics(): Promise<string>
}

/** Agent tasks processed at once. */
const AGENT_TASKS = 20

/** Starts polling. Throws `config-invalid` when the state folder cannot be written. */
export function startV1Agent(options: V1Options): V1Agent {
  return new PollingAgent(options)
}

/** The group of the agent tasks. Those of the workflows are called `runtime/NAME`. */
const AGENT_GROUP = 'agent-tasks'

class PollingAgent implements V1Agent {
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  readonly #options: V1Options
  readonly #clock: Clock
  readonly #log: Logger
  readonly #polling = new AbortController()
  readonly #running = new AbortController()
  readonly #heard = Promise.withResolvers<void>()
  readonly #work: Work<V1Task, TaskStatus>
  readonly #metrics: Metrics
  readonly #terminations = openTerminations()
  #heardAt = 0
  #pollError: string | undefined
  /** Aborted when the right to poll is lost; undefined while another process has it. */
  #term: AbortSignal | undefined

  constructor(options: V1Options) {
    const { clock, log, platform } = options
    this.#options = options
    this.#clock = clock
    this.#log = log
    const [concurrency, buffer] = [options.concurrency ?? 50, options.buffer ?? 1_000]
    this.#work = openWork<V1Task, TaskStatus>({
      dir: options.stateDir,
      setting: 'WINDLASS_AGENT_STATE_DIR',
      encode: withoutSecrets,
      decode: (stored) => V1Task.parse(stored),
      decodeReport: (stored) => TaskStatusShape.parse(stored),
      limits: (group) => ({ concurrency: group === AGENT_GROUP ? AGENT_TASKS : concurrency, buffer }),
      run: (batch, run) => (batch.group === AGENT_GROUP ? this.#runAgentTasks(batch, run) : this.#carryOut(batch, run)),
      failure: ({ task }, error) =>
        this.#statusOf(task, { ok: false, isRetriable: true, reason: `internal error: ${String(error)}` }),
      report: (key, status, { signal }) => platform.report(idOf(key), status, signal),
      isRefusal: (error) => isFault(error, 'request-invalid', 'not-found'),
      clock,
      log,
    })
    this.#metrics = openMetrics({
      queued: () => this.#work.waiting() - this.#work.waiting(AGENT_GROUP),
      unsent: () => this.#work.unsent,
      isLeader: () => this.#isLeader(),
    })
    this.ready = this.#heard.promise
    this.ready.catch(() => undefined)
    this.ended = this.#run()
    this.ended.catch(() => undefined)
  }

  status(): ReturnType<Agent['status']> {
    const isStandby = !this.#isLeader() && !this.#polling.signal.aborted
    const tasks = this.#work.waiting() + this.#work.running
    return { tasks, facts: this.#work.unsent, epoch: 0, heardAt: isStandby ? this.#clock.now() : this.#heardAt }
  }

  metrics(): Promise<string> {
    return this.#metrics.registry.metrics()
  }

  idle(): Promise<void> {
    return this.#work.idle()
  }

  /**
   * Stops polling, finishes and reports all pulled tasks, then stops. Workflows that wait for their turn are reported as failed, and the platform sends
   * them again. The limit is the grace period of the pod. The poll in progress is completed, because the platform sends the tasks of its answer only once.
   */
  async close(graceMs?: number): Promise<void> {
    this.#polling.abort(new DOMException('the agent is closed', 'AbortError'))
    await this.#work.close(graceMs)
    this.#running.abort(new DOMException('the agent is closed', 'AbortError'))
    await this.ended.catch(() => undefined)
  }

  async #run(): Promise<void> {
    try {
      this.#resume()
      await Promise.all([this.#work.ended, this.#lead()])
    } finally {
      this.#polling.abort(new DOMException('the agent is closed', 'AbortError'))
      this.#running.abort(new DOMException('the agent is closed', 'AbortError'))
      this.#heard.reject(new DOMException('the agent is closed', 'AbortError'))
      await this.#work.close(0)
    }
  }

  /**
   * Handles the tasks that an earlier process left. Deletions are carried out, because repeating them is harmless. A create may no longer be wanted,
   * so it is reported as failed and retriable; the platform sends it again if it still wants it.
   */
  #resume(): void {
    const reason = 'the agent was restarted before the task was carried out'
    const tasks = this.#work.unfinished.map(({ task }) => task)
    const isRepeatable = (task: V1Task): boolean => !isCreate(task) && task.type !== 'AgentTask'
    for (const task of tasks.filter((each) => !isRepeatable(each))) this.#conclude(task, { ok: false, isRetriable: true, reason })
    this.#accept(tasks.filter(isRepeatable)).catch((error: unknown) => this.#log.error({ err: error }, 'cannot resume tasks'))
  }

  /** Polls and sends heartbeats while this process has the right to poll. */
  async #lead(): Promise<void> {
    const term = async (signal: AbortSignal): Promise<void> => {
      this.#term = signal
      const polling = this.#pollLoop(AbortSignal.any([this.#polling.signal, signal]))
      await Promise.all([polling, this.#heartbeatLoop(AbortSignal.any([this.#running.signal, signal]))])
      this.#term = undefined
    }
    const { leadership = withoutElection() } = this.#options
    try {
      await leadership.lead(term, this.#polling.signal)
    } catch (error) {
      if (!isFault(error)) throw error
      this.#log.warn({ err: error }, 'the lease cannot be used; run only one replica of this agent')
      await withoutElection().lead(term, this.#polling.signal)
    }
  }

  #isLeader(): boolean {
    return this.#term?.aborted === false
  }

  async #pollLoop(signal: AbortSignal): Promise<void> {
    const pollMs = this.#options.pollMs ?? 3_000
    for (let failures = 0; !signal.aborted;) {
      const startedAt = this.#clock.monotonic()
      const error = await this.#work.pull((pulling) => this.#poll(pulling))
      if (signal.aborted) return
      failures = error === undefined ? 0 : failures + 1
      const took = this.#clock.monotonic() - startedAt
      const wait = error === undefined ? Math.max(0, pollMs - took) : Math.max(pollMs, retryDelayMs(error, failures))
      await this.#clock.sleep(wait, signal).catch(() => undefined)
    }
  }

  /** Polls once. Returns the error, if any. */
  async #poll(signal: AbortSignal): Promise<unknown> {
    const startedAt = this.#clock.monotonic()
    try {
      const answer = readTasks(await this.#options.platform.tasks(signal))
      this.#metrics.polled(true, this.#clock.monotonic() - startedAt)
      this.#heardAt = this.#clock.now()
      this.#pollError = undefined
      this.#heard.resolve()
      for (const { task, problem } of answer.broken) this.#refuse(task, `the task cannot be read: ${problem}`)
      if (answer.lost > 0) this.#log.error({ count: answer.lost }, 'ignored items of a poll that are not tasks and have no id')
      await this.#accept(answer.tasks.filter((task) => !this.#work.has(keyOf(task))))
      return undefined
    } catch (error) {
      if (isAbort(error)) return undefined
      this.#metrics.polled(false, this.#clock.monotonic() - startedAt)
      this.#pollError = error instanceof Error ? error.message : String(error)
      this.#log.warn({ err: error }, 'poll failed')
      return error
    }
  }

  async #accept(tasks: readonly V1Task[]): Promise<void> {
    if (tasks.length === 0) return
    const { batches, agentTasks, refused } = splitTasks(tasks)
    for (const { task, reason } of refused) this.#refuse(task, reason)
    const count = batches.reduce((sum, batch) => sum + batch.tasks.length, 0)
    this.#metrics.pulled({ agentTasks: agentTasks.length, clusterTasks: count })
    const queued = this.#work.waiting() - this.#work.waiting(AGENT_GROUP)
    this.#log.info({ workflows: batches.length, tasks: count, agentTasks: agentTasks.length, queued }, 'pulled')
    for (const { workflowId, kind } of batches) if (kind === 'terminate') this.#terminations.terminate(workflowId)
    await this.#work.accept([
      ...agentTasks.map((task) => ({ group: AGENT_GROUP, lane: task._id, units: [toUnit(task)] })),
      ...batches.map((batch) => ({
        group: `runtime/${batch.runtime}`,
        lane: batch.workflowId,
        units: batch.tasks.map(toUnit),
      })),
    ])
  }

  #refuse(task: V1Task, reason: string): void {
    this.#log.error({ taskId: task._id, type: task.type, reason }, 'task refused')
    this.#conclude(task, { ok: false, isRetriable: false, reason })
  }

  /** Records the outcome of a task that is not carried out. */
  #conclude(task: V1Task, outcome: TaskOutcome): void {
    this.#work.finish([{ unit: toUnit(task), report: this.#statusOf(task, outcome) }])
  }

  async #carryOut({ lane, units }: Batch<V1Task>, run: Run<TaskStatus>): Promise<void> {
    const { clusterOf, forceDeletePvc = false, clock, log } = this.#options
    const report = (task: V1Task, outcome: TaskOutcome): Promise<void> => this.#finish(run, task, outcome)
    const batch = toBatch(
      lane,
      units.map(({ task }) => task),
    )
    await this.#terminations.during(lane, async (withdrawn) => {
      if (batch.kind === 'terminate') this.#terminations.carriedOut(lane)
      const awaitTurn: CarryOutOptions['awaitTurn'] = (wait) => run.aside(() => this.#awaitTurn(wait, withdrawn, run.signal))
      const parts = { clusterOf, forceDeletePvc, metrics: this.#metrics, clock, log, report, awaitTurn }
      await carryOut(parts, { batch, pulledAt: run.acceptedAt }, run.signal)
    })
  }

  /** Ends the wait also when this process stops, because the platform sends a task again only after a report, and the ledger may go with the pod. */
  async #awaitTurn(
    wait: (withdrawn: AbortSignal) => Promise<void>,
    terminated: AbortSignal,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      await wait(AbortSignal.any([terminated, this.#polling.signal]))
      return undefined
    } catch (error) {
      if (signal.aborted || !isAbort(error)) throw error
      return terminated.aborted
        ? 'the workflow was terminated before its turn'
        : 'the agent was stopped before the turn of the workflow'
    }
  }

  async #runAgentTasks({ units }: Batch<V1Task>, run: Run<TaskStatus>): Promise<void> {
    const { transport, appProxies = [], clock } = this.#options
    for (const { task } of units) {
      const startedAt = this.#clock.monotonic()
      const outcome = await runAgentTask({ transport, appProxies, clock }, task, run.signal)
      this.#metrics.agentTaskDone(task.type, this.#clock.monotonic() - startedAt)
      if (!outcome.ok) this.#log.warn({ taskId: task._id, reason: outcome.reason }, 'agent task failed')
      await this.#finish(run, task, outcome)
    }
  }

  /** Records an outcome. A failure caused by the shutdown of this process is not recorded: the next process finds the task in the ledger. */
  async #finish(run: Run<TaskStatus>, task: V1Task, outcome: TaskOutcome): Promise<void> {
    if (outcome.ok || !run.signal.aborted) await run.finish({ key: keyOf(task) }, this.#statusOf(task, outcome))
  }

  #statusOf(task: V1Task, outcome: TaskOutcome): TaskStatus | undefined {
    return task.metadata.shouldReportStatus ? toStatus(task, outcome, this.#clock.now()) : undefined
  }

  async #heartbeatLoop(signal: AbortSignal): Promise<void> {
    for await (const _ of ticks(this.#options.heartbeatMs ?? 10_000, { clock: this.#clock, signal })) {
      const message = this.#pollError === undefined ? 'All good' : `Polls fail: ${this.#pollError}`.slice(0, 500)
      await this.#options.platform.heartbeat(message, signal).catch((error: unknown) => {
        if (!isAbort(error)) this.#log.warn({ err: error }, 'heartbeat failed')
      })
    }
  }
}

/** Returns the key of a task. The platform counts the revision up to have a task carried out again. */
function keyOf({ _id, metadata }: V1Task): string {
  return `${metadata.currentStatusRevision}/${_id}`
}

function idOf(key: string): string {
  return key.slice(key.indexOf('/') + 1)
}

function toUnit(task: V1Task): Unit<V1Task> {
  return { key: keyOf(task), task }
}

/** Returns what is stored of a task. Manifests hold credentials, and a restarted agent does not carry out an old create. */
function withoutSecrets(task: V1Task): unknown {
  const { _id, type, metadata } = task
  return { _id, type, metadata, ...(!isCreate(task) && type !== 'AgentTask' && { spec: task.spec }) }
}

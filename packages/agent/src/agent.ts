/**
 * The agent of protocol v2. Four loops run side by side: one claims tasks by long polling, one renews leases, one sends facts, and one
 * compares the objects in the cluster with the records of the server. Nothing is kept on disk: the server sends tasks again until they are
 * acknowledged, and facts are read again from the objects after a restart. What a task does is up to the executor, and the state of a build
 * is up to the server.
 */
import { randomUUID } from 'node:crypto'
import { attempt as tick, backoffMs, endsWork, isAbort, ticks, type Clock, type Fault, type Logger } from '@windlass/kit'
import { agentCalls, type AgentCalls } from '@windlass/client/agent'
import { PROTOCOL_VERSION, VERSION, type AgentHello, type Client } from '@windlass/protocol'
import type { CheckedAgent } from './side-work/checks.ts'
import type { AttemptLeft, Executor, OpenExecutor } from './executor.ts'
import { openFacts, type FactOutbox } from './facts.ts'
import { openSideWork, type SideWork } from './side-work/side-work.ts'
import { openSilentEngines, type SilentEngines } from './silent-engines.ts'
import { sweepExpired } from './sweep.ts'
import { openTasks, type TaskTable } from './tasks.ts'

export interface AgentOptions {
  /** Client with the agent token. */
  readonly client: Client
  readonly executor: OpenExecutor
  readonly clock: Clock
  readonly log: Logger
  readonly version?: string
  /** Base URL by which engines reach the server. Default: the URL of `client`. */
  readonly engineServerUrl?: string | undefined
  /** Maximum number of tasks per claim. The server decides how many builds run. */
  readonly maxTasks?: number
  /** How long the server may hold a claim. Milliseconds. */
  readonly waitMs?: number
  /** Interval between comparisons of the cluster with the records of the server. Milliseconds. */
  readonly sweepMs?: number
  /** Calls a server without a token, for checks. Throws if it does not answer. */
  readonly reach?: CheckedAgent['reach']
  /** Further findings of its checks. */
  readonly findings?: CheckedAgent['findings']
  /** Interval between reports of disks. Milliseconds. */
  readonly disksMs?: number
  /** PEM file with additional certificate authorities, for checks of contexts. */
  readonly caFile?: string | undefined
  /** Names of the runtimes that this agent serves; undefined if it accepts tasks of any runtime. */
  readonly runtimes?: (() => readonly string[]) | undefined
}

export interface Agent {
  /** Resolves when the server has accepted the first hello. */
  readonly ready: Promise<void>
  /**
   * Resolves after `close`. Rejects with `agent-fenced`, `unauthenticated` or `protocol-unsupported`, after which this process cannot
   * continue.
   */
  readonly ended: Promise<void>
  /** Current numbers of tasks and unsent facts, the epoch, and the time of the last answer of the server. */
  status(): { readonly tasks: number; readonly facts: number; readonly epoch: number; readonly heardAt: number }
  /** Resolves when no task is in progress and every fact is sent. */
  idle(): Promise<void>
  /** Stops claiming, waits up to `graceMs` for the tasks in progress, then stops. Attempts in a cluster keep running. */
  close(graceMs?: number): Promise<void>
}

/** Starts the loops of an agent. Never throws; a fatal error rejects `ended`. */
export function startAgent(options: AgentOptions): Agent {
  return new RunningAgent(options)
}

class RunningAgent implements Agent {
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  readonly #options: AgentOptions
  readonly #server: AgentCalls
  readonly #log: Logger
  readonly #clock: Clock
  readonly #instance = randomUUID()
  readonly #claiming = new AbortController()
  readonly #running = new AbortController()
  readonly #welcomed = Promise.withResolvers<void>()
  readonly #fatal = Promise.withResolvers<never>()
  readonly #facts: FactOutbox
  readonly #executor: Executor
  readonly #tasks: TaskTable
  readonly #silent: SilentEngines
  readonly #sideWork: SideWork
  #epoch = 0
  #leaseMs = 30_000
  #heardAt = 0

  constructor(options: AgentOptions) {
    const { client, clock, log } = options
    this.#options = options
    this.#server = agentCalls(options.client)
    this.#log = log
    this.#clock = clock
    this.ready = this.#welcomed.promise
    this.#facts = openFacts({ client, clock, log })
    this.#executor = options.executor({ report: (fact) => this.#facts.report(fact), clock, log })
    this.#silent = openSilentEngines({
      executor: this.#executor,
      report: (fact) => this.#facts.report(fact),
      clock,
      log,
      signal: this.#running.signal,
    })
    this.#tasks = openTasks({
      executor: this.#executor,
      client,
      clock,
      log,
      epoch: () => this.#epoch,
      signal: this.#running.signal,
      onGone: (ref) => this.#facts.forget(ref),
      onFenced: (error) => this.#fatal.reject(error),
    })
    this.#sideWork = openSideWork({
      executor: this.#executor,
      server: this.#server,
      epoch: () => this.#epoch,
      clock,
      log,
      signal: this.#running.signal,
      checked: { clock, serverUrl: client.url, reach: options.reach, findings: options.findings },
      disksMs: options.disksMs,
      caFile: options.caFile,
      onFenced: (error) => this.#fatal.reject(error),
    })
    this.ready.catch(() => undefined)
    this.#fatal.promise.catch(() => undefined)
    this.ended = this.#run()
    this.ended.catch(() => undefined)
  }

  status(): ReturnType<Agent['status']> {
    return { tasks: this.#tasks.ids().length, facts: this.#facts.size(), epoch: this.#epoch, heardAt: this.#heardAt }
  }

  async idle(): Promise<void> {
    await this.#tasks.idle()
    while (this.#facts.size() > 0 && !this.#running.signal.aborted) await this.#clock.sleep(10)
  }

  async close(graceMs = 10_000): Promise<void> {
    this.#claiming.abort(new DOMException('the agent is closed', 'AbortError'))
    const grace = new AbortController()
    await Promise.race([this.idle(), this.#clock.sleep(graceMs, grace.signal).catch(() => undefined)])
    grace.abort()
    this.#end()
    await this.ended.catch(() => undefined)
  }

  #end(): void {
    const reason = new DOMException('the agent is closed', 'AbortError')
    this.#claiming.abort(reason)
    this.#running.abort(reason)
    this.#tasks.drop(this.#tasks.ids())
  }

  async #run(): Promise<void> {
    try {
      await Promise.race([this.#loops(), this.#fatal.promise])
    } catch (error) {
      this.#welcomed.reject(error)
      this.#log.error({ err: error }, 'agent stopped by a fatal error')
      throw error
    } finally {
      this.#end()
      await this.#silent.idle()
      await this.#executor.close()
    }
  }

  async #loops(): Promise<void> {
    const signal = this.#running.signal
    await this.#greet()
    if (signal.aborted) return
    const session = (): { epoch: number; instance: string } => ({ epoch: this.#epoch, instance: this.#instance })
    await Promise.all([
      this.#claimLoop(),
      this.#leaseLoop(),
      this.#sweepLoop(),
      this.#facts.send(session, signal),
      this.#sideWork.run(),
    ])
  }

  /** Repeats the hello until the server answers. */
  async #greet(): Promise<void> {
    for (let failures = 1; !this.#running.signal.aborted; failures += 1) {
      try {
        await this.#hello()
        this.#welcomed.resolve()
        return
      } catch (error) {
        if (isFatal(error)) throw error
        if (isAbort(error)) return
        this.#log.warn({ err: error }, 'hello failed')
        await this.#pause(failures)
      }
    }
  }

  /** Says hello and returns the attempts that are left in the cluster, as reported to the server. */
  async #hello(): Promise<readonly AttemptLeft[]> {
    const left = (await this.#executor.attempts()).slice(0, 5000)
    const body: AgentHello = {
      protocol: PROTOCOL_VERSION,
      version: this.#options.version ?? VERSION,
      features: [...this.#sideWork.features],
      executor: this.#executor.kind,
      instance: this.#instance,
      serverUrl: this.#options.engineServerUrl ?? this.#options.client.url,
      attempts: left.map(({ buildId, attempt }) => ({ buildId, attempt })),
      ...(this.#options.runtimes && { runtimes: [...this.#options.runtimes()].slice(0, 1000) }),
    }
    const welcome = await this.#server.hello(body, { signal: this.#running.signal })
    this.#epoch = welcome.epoch
    this.#leaseMs = welcome.leaseMs
    this.#sideWork.welcome(welcome.server.features)
    this.#heardAt = this.#clock.now()
    return left
  }

  async #claimLoop(): Promise<void> {
    const signal = AbortSignal.any([this.#claiming.signal, this.#running.signal])
    // A constant, not the free capacity: a start may wait for room in the cluster, and the stop that frees it must not wait behind it.
    const room = this.#options.maxTasks ?? 200
    const waitMs = this.#options.waitMs ?? 30_000
    for (let failures = 0; !signal.aborted;) {
      try {
        const request = { epoch: this.#epoch, room, waitMs }
        const { tasks, jobs = [] } = await this.#server.claim(request, { signal, timeoutMs: waitMs + 15_000 })
        failures = 0
        this.#heardAt = this.#clock.now()
        for (const task of tasks) this.#tasks.accept(task)
        for (const job of jobs) this.#sideWork.accept(job)
      } catch (error) {
        if (isFatal(error)) throw error
        if (isAbort(error)) continue
        failures += 1
        this.#log.warn({ err: error }, 'claim failed')
        await this.#pause(failures)
      }
    }
  }

  async #leaseLoop(): Promise<void> {
    const signal = this.#running.signal
    while (!signal.aborted) {
      await this.#clock.sleep(this.#leaseMs / 3, signal).catch(() => undefined)
      if (signal.aborted) return
      try {
        const held = { epoch: this.#epoch, tasks: this.#tasks.ids() }
        const answer = await this.#server.renewLease(held, { signal, timeoutMs: 10_000 })
        this.#leaseMs = answer.leaseMs
        this.#heardAt = this.#clock.now()
        this.#tasks.drop(answer.lost)
        this.#silent.read(answer.silent ?? [])
      } catch (error) {
        if (isFatal(error)) throw error
        if (!isAbort(error)) this.#log.warn({ err: error }, 'leases not renewed')
      }
    }
  }

  async #sweepLoop(): Promise<void> {
    const signal = this.#running.signal
    const period = this.#options.sweepMs ?? 60_000
    for await (const n of ticks(period, { clock: this.#clock, signal, jitter: 0.2 })) {
      if (n === 0) continue
      const left = await tick(this.#log, 'compare with the server', () => this.#hello())
      const parts = { executor: this.#executor, tasks: this.#tasks, clock: this.#clock, log: this.#log, signal }
      if (left !== undefined) await sweepExpired(parts, left)
    }
  }

  async #pause(failures: number): Promise<void> {
    await this.#clock.sleep(backoffMs({ baseMs: 200, maxMs: 10_000 }, failures), this.#running.signal).catch(() => undefined)
  }
}

/**
 * Returns true if retrying is pointless because another process took over or the server refuses this one. Exit codes tell the two apart.
 */
export function isFatal(error: unknown): error is Fault {
  return endsWork('agent', error)
}

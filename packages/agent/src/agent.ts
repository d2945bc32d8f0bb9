/**
 * The agent: one loop claims tasks by a held poll, one renews leases, one sends facts, one compares what is left with what the server
 * knows. Work flows in by tasks, facts flow back. It keeps nothing on disk: tasks come again until they are acknowledged, and facts are
 * read again from the objects after a restart. Not here: what a task does (an executor), what becomes of the build (the server).
 */
import { randomUUID } from 'node:crypto'
import { attempt as tick, backoffMs, isAbort, isFault, ticks, type Clock, type Fault, type Logger } from '@windlass/kit'
import { AgentWelcome, ClaimAnswer, LeaseAnswer, PROTOCOL_VERSION, type AgentHello, type Client } from '@windlass/protocol'
import type { AttemptLeft, Executor, OpenExecutor } from './executor.ts'
import { openFacts, type FactOutbox } from './facts.ts'
import { sweepExpired } from './sweep.ts'
import { openTasks, type TaskTable } from './tasks.ts'

export interface AgentOptions {
  /** Carries the agent token. */
  readonly client: Client
  readonly executor: OpenExecutor
  readonly clock: Clock
  readonly log: Logger
  readonly version?: string
  /** Most tasks taken by one claim; how many builds run is the server's decision. */
  readonly maxTasks?: number
  /** How long the server may hold a claim, milliseconds. */
  readonly waitMs?: number
  /** How often what is left in the cluster is compared with what the server knows, milliseconds. */
  readonly sweepMs?: number
  /** Names of the runtimes whose clusters this agent has; undefined when it takes whatever the server gives it. */
  readonly runtimes?: (() => readonly string[]) | undefined
}

export interface Agent {
  /** Resolves when the server has welcomed this agent. */
  readonly ready: Promise<void>
  /** Resolves after `close`; rejects with `agent-fenced`, `unauthenticated` or `protocol-unsupported`: this process cannot go on. */
  readonly ended: Promise<void>
  /** What this agent has in its hands. */
  status(): { readonly tasks: number; readonly facts: number; readonly epoch: number; readonly heardAt: number }
  /** Resolves when no task is in hand and every fact is sent. */
  idle(): Promise<void>
  /** Claims nothing more, finishes the tasks in hand (for at most `graceMs`), then stops. Attempts in a cluster run on. */
  close(graceMs?: number): Promise<void>
}

/** Faults after which going on is pointless: another process took over, or the server will never accept this one. */
const FATAL = ['agent-fenced', 'unauthenticated', 'forbidden', 'protocol-unsupported'] as const

/** Starts the loops of an agent. Never throws: what goes wrong for good rejects `ended`. */
export function startAgent(options: AgentOptions): Agent {
  return new RunningAgent(options)
}

class RunningAgent implements Agent {
  readonly ready: Promise<void>
  readonly ended: Promise<void>
  readonly #options: AgentOptions
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
  #epoch = 0
  #leaseMs = 30_000
  #heardAt = 0

  constructor(options: AgentOptions) {
    const { client, clock, log } = options
    this.#options = options
    this.#log = log
    this.#clock = clock
    this.ready = this.#welcomed.promise
    this.#facts = openFacts({ client, clock, log })
    this.#executor = options.executor({ report: (fact) => this.#facts.report(fact), clock, log })
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
      this.#log.error({ err: error }, 'agent ends')
      throw error
    } finally {
      this.#end()
      await this.#executor.close()
    }
  }

  async #loops(): Promise<void> {
    const signal = this.#running.signal
    await this.#greet()
    if (signal.aborted) return
    const session = (): { epoch: number; instance: string } => ({ epoch: this.#epoch, instance: this.#instance })
    await Promise.all([this.#claimLoop(), this.#leaseLoop(), this.#sweepLoop(), this.#facts.send(session, signal)])
  }

  /** Says hello until the server answers. */
  async #greet(): Promise<void> {
    for (let failures = 1; !this.#running.signal.aborted; failures += 1) {
      try {
        await this.#hello()
        this.#welcomed.resolve()
        return
      } catch (error) {
        if (isFault(error, ...FATAL)) throw error
        if (isAbort(error)) return
        this.#log.warn({ err: error }, 'no welcome from the server')
        await this.#pause(failures)
      }
    }
  }

  /** Says hello; answers what is left of attempts, about which the server was told. */
  async #hello(): Promise<readonly AttemptLeft[]> {
    const left = (await this.#executor.attempts()).slice(0, 5000)
    const body: AgentHello = {
      protocol: PROTOCOL_VERSION,
      version: this.#options.version ?? '0.1.0',
      features: [],
      executor: this.#executor.kind,
      instance: this.#instance,
      attempts: left.map(({ buildId, attempt }) => ({ buildId, attempt })),
      ...(this.#options.runtimes && { runtimes: [...this.#options.runtimes()].slice(0, 1000) }),
    }
    const welcome = await this.#options.client.call('POST', '/v1/agent/hello', AgentWelcome, {
      body,
      signal: this.#running.signal,
    })
    this.#epoch = welcome.epoch
    this.#leaseMs = welcome.leaseMs
    this.#heardAt = this.#clock.now()
    return left
  }

  async #claimLoop(): Promise<void> {
    const signal = AbortSignal.any([this.#claiming.signal, this.#running.signal])
    // Always the same: a start may wait for room in the cluster, and the stop that makes room must not wait behind it.
    const room = this.#options.maxTasks ?? 200
    const waitMs = this.#options.waitMs ?? 30_000
    for (let failures = 0; !signal.aborted;) {
      try {
        const call = { body: { epoch: this.#epoch, room, waitMs }, signal, timeoutMs: waitMs + 15_000 }
        const { tasks } = await this.#options.client.call('POST', '/v1/agent/claim', ClaimAnswer, call)
        failures = 0
        this.#heardAt = this.#clock.now()
        for (const task of tasks) this.#tasks.accept(task)
      } catch (error) {
        if (isFault(error, ...FATAL)) throw error
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
        const body = { epoch: this.#epoch, tasks: this.#tasks.ids() }
        const answer = await this.#options.client.call('POST', '/v1/agent/lease', LeaseAnswer, {
          body,
          signal,
          timeoutMs: 10_000,
        })
        this.#leaseMs = answer.leaseMs
        this.#heardAt = this.#clock.now()
        this.#tasks.drop(answer.lost)
      } catch (error) {
        if (isFault(error, ...FATAL)) throw error
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

/** True when the agent must not be started again as it is: exit codes tell these apart. */
export function isFatal(error: unknown): error is Fault {
  return isFault(error, ...FATAL)
}

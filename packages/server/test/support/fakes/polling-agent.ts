/**
 * An agent of protocol v1 that behaves like the public agent: it polls at an interval, groups tasks into one batch per build, processes different
 * builds concurrently and the batches of one build sequentially, and reports each object once without retries. Its cluster is a set of names.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ProtocolV1Task } from '@windlass/protocol'
import { z } from 'zod'

export interface PollingAgentOptions {
  readonly url: string
  readonly token: string
  /** Id or name in the path. */
  readonly agent: string
  /** Polling interval, 3 s in the public agent. Milliseconds. */
  readonly intervalMs: number
  /** Returns the error of the cluster for a task, or undefined if it succeeds. */
  readonly refuse?: (task: ProtocolV1Task) => { readonly reason: string; readonly isRetriable: boolean } | undefined
}

export interface PollingAgent extends AsyncDisposable {
  /** Existing objects: `Pod/name` and `PersistentVolumeClaim/name`, with their manifests. */
  readonly objects: ReadonlyMap<string, unknown>
  /** Executed operations such as `create Pod/name`, in order. */
  readonly calls: readonly string[]
  /** Status codes of all responses. */
  readonly answers: readonly number[]
}

const ORDER = ['CreatePvc', 'CreatePod', 'DeletePod', 'DeletePvc']
const HEARTBEAT_MS = 10_000

export function startPollingAgent(options: PollingAgentOptions): PollingAgent {
  const agent = new Agent(options)
  const ended = agent.run()
  return {
    objects: agent.objects,
    calls: agent.calls,
    answers: agent.answers,
    async [Symbol.asyncDispose]() {
      agent.stop()
      await ended
    },
  }
}

class Agent {
  readonly objects = new Map<string, unknown>()
  readonly calls: string[] = []
  readonly answers: number[] = []
  readonly #options: PollingAgentOptions
  readonly #stopping = new AbortController()
  readonly #running = new Map<string, Promise<void>>()

  constructor(options: PollingAgentOptions) {
    this.#options = options
  }

  stop(): void {
    this.#stopping.abort()
  }

  async run(): Promise<void> {
    const { signal } = this.#stopping
    const sendStatus = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.#call('PUT', '/status', { message: 'All good' })
        await sleep(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    const statusLoop = sendStatus()
    while (!signal.aborted) {
      await sleep(this.#options.intervalMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) this.#startBatches(await this.#poll())
    }
    await Promise.all([statusLoop, ...this.#running.values()])
  }

  async #poll(): Promise<ProtocolV1Task[]> {
    const answer = await this.#call('GET', '/tasks?waitForStatusReport=true', undefined, this.#stopping.signal)
    return answer === undefined ? [] : z.array(ProtocolV1Task).parse(JSON.parse(answer))
  }

  #startBatches(tasks: readonly ProtocolV1Task[]): void {
    const batches = new Map<string, ProtocolV1Task[]>()
    for (const task of tasks) batches.set(task.metadata.workflowId, [...(batches.get(task.metadata.workflowId) ?? []), task])
    const oldest = (batch: readonly ProtocolV1Task[]): string =>
      batch.map(({ metadata }) => metadata.createdAt).toSorted()[0] ?? ''
    const sorted = [...batches].toSorted(([, a], [, b]) => oldest(a).localeCompare(oldest(b)))
    for (const [build, batch] of sorted) {
      const before = this.#running.get(build) ?? Promise.resolve()
      this.#running.set(
        build,
        before.then(() => this.#work(batch)),
      )
    }
  }

  async #work(batch: readonly ProtocolV1Task[]): Promise<void> {
    for (const task of batch.toSorted((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type))) {
      const failure = this.#options.refuse?.(task) ?? this.#execute(task)
      const { currentStatusRevision, shouldReportStatus } = task.metadata
      if (!shouldReportStatus) continue
      await this.#call('POST', `/tasks/${task._id}/statuses`, {
        status: failure === undefined ? 'Success' : 'Error',
        occurredAt: new Date().toISOString(),
        statusRevision: currentStatusRevision + 1,
        isRetriable: failure?.isRetriable ?? false,
        ...(failure !== undefined && { reason: failure.reason }),
      })
    }
  }

  #execute(task: ProtocolV1Task): { reason: string; isRetriable: boolean } | undefined {
    const isPod = task.type === 'CreatePod' || task.type === 'DeletePod'
    const isDeletion = task.type === 'DeletePod' || task.type === 'DeletePvc'
    const name = isDeletion ? task.spec.Name : task.spec.metadata.name
    const key = `${isPod ? 'Pod' : 'PersistentVolumeClaim'}/${name}`
    const plural = isPod ? 'pods' : 'persistentvolumeclaims'
    this.calls.push(`${isDeletion ? 'delete' : 'create'} ${key}`)
    if (isDeletion) {
      if (this.objects.delete(key)) return undefined
      return { reason: `failed deleting resource: ${plural} "${name}" not found`, isRetriable: false }
    }
    if (this.objects.has(key))
      return { reason: `failed creating resource: ${plural} "${name}" already exists`, isRetriable: false }
    this.objects.set(key, task.spec)
    return undefined
  }

  async #call(method: string, path: string, body: unknown, signal?: AbortSignal): Promise<string | undefined> {
    const { url, token, agent } = this.#options
    const headers = { authorization: token, 'content-type': 'application/json', 'user-agent': 'cf-classic-runner/2.0.10' }
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }), ...(signal && { signal }) }
    try {
      const answer = await fetch(`${url}/api/agent/${encodeURIComponent(agent)}${path}`, request)
      this.answers.push(answer.status)
      const text = await answer.text()
      return answer.ok ? text : undefined
    } catch {
      return undefined
    }
  }
}

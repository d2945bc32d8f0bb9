/**
 * An agent of protocol 1 as the public one behaves (runner specification 2): it polls on a beat, sorts what it gets into one batch per build, works
 * on different builds at once and on one build never twice at once, and reports each object once without ever repeating a report. The cluster
 * behind it is a set of names.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { PolledTask } from '@windlass/protocol'
import { z } from 'zod'

export interface PollingAgentOptions {
  readonly url: string
  readonly token: string
  /** Id or name, as it stands in the path. */
  readonly agent: string
  /** 3 s in the public agent. Milliseconds. */
  readonly intervalMs: number
  /** What the cluster refuses; undefined lets it be. */
  readonly refuse?: (task: PolledTask) => { readonly reason: string; readonly isRetriable: boolean } | undefined
}

export interface PollingAgent extends AsyncDisposable {
  /** Objects that exist: `Pod/name` and `PersistentVolumeClaim/name`, with their manifests. */
  readonly objects: ReadonlyMap<string, unknown>
  /** `create Pod/name` and so on, in the order in which they were done. */
  readonly calls: readonly string[]
  /** Status codes of all answers. */
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
    const beat = async (): Promise<void> => {
      while (!signal.aborted) {
        await this.#call('PUT', '/status', { message: 'All good' })
        await sleep(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined)
      }
    }
    const beating = beat()
    while (!signal.aborted) {
      await sleep(this.#options.intervalMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) this.#divide(await this.#poll())
    }
    await Promise.all([beating, ...this.#running.values()])
  }

  async #poll(): Promise<PolledTask[]> {
    const answer = await this.#call('GET', '/tasks?waitForStatusReport=true', undefined, this.#stopping.signal)
    return answer === undefined ? [] : z.array(PolledTask).parse(JSON.parse(answer))
  }

  #divide(tasks: readonly PolledTask[]): void {
    const batches = new Map<string, PolledTask[]>()
    for (const task of tasks) batches.set(task.metadata.workflowId, [...(batches.get(task.metadata.workflowId) ?? []), task])
    const oldest = (batch: readonly PolledTask[]): string => batch.map(({ metadata }) => metadata.createdAt).toSorted()[0] ?? ''
    const sorted = [...batches].toSorted(([, a], [, b]) => oldest(a).localeCompare(oldest(b)))
    for (const [build, batch] of sorted) {
      const before = this.#running.get(build) ?? Promise.resolve()
      this.#running.set(
        build,
        before.then(() => this.#work(batch)),
      )
    }
  }

  async #work(batch: readonly PolledTask[]): Promise<void> {
    for (const task of batch.toSorted((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type))) {
      const failure = this.#options.refuse?.(task) ?? this.#carryOut(task)
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

  #carryOut(task: PolledTask): { reason: string; isRetriable: boolean } | undefined {
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

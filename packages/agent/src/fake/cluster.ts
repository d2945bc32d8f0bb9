/**
 * A place where fake engines live in place of pods. It outlives the agents that use it, as a cluster does: an agent may be thrown away
 * and another one started while engines run on.
 */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { createClient, type StartTask, type Transport } from '@windlass/protocol'
import {
  attemptKey,
  type AttemptRef,
  type ExecutorContext,
  type Executor,
  type OpenExecutor,
  type ReportFact,
} from '../executor.ts'
import { FakeCrash, runFakeEngine, type Observe } from './engine.ts'
import { DEFAULT_SCRIPT, draw, type FakeScript } from './script.ts'

export interface FakeClusterOptions {
  /** How engines reach the server; wrap it to cut, delay or repeat calls. Each live engine holds a socket for its commands and needs another. */
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  readonly script?: Partial<FakeScript>
  /** Told of everything that really happens. */
  readonly observe?: Observe
}

export interface FakeCluster {
  /** Opens the executor of an agent on this cluster; only the last one opened hears of what happens. */
  readonly executor: OpenExecutor
  /** Attempts whose engine runs now. */
  running(): AttemptRef[]
  /** Kills an engine from outside; `silent`: no fact is reported, only its silence tells. False when it did not run. */
  kill(ref: AttemptRef, options?: { readonly silent?: boolean }): boolean
  /** Changes the script for engines started from now on. */
  setScript(script: Partial<FakeScript>): void
  /** Kills everything; resolves when all engines are over. */
  close(): Promise<void>
}

interface Pod {
  readonly ref: AttemptRef
  readonly controller: AbortController
  ended: Promise<void>
  live: boolean
  silent: boolean
}

/** Opens a place for fake engines: `startAgent({ executor: cluster.executor, ... })`. */
export function openFakeCluster(options: FakeClusterOptions): FakeCluster {
  const { clock, log } = options
  const observe: Observe = options.observe ?? (() => undefined)
  let script: FakeScript = { ...DEFAULT_SCRIPT, ...options.script }
  let report: ReportFact = () => undefined
  const pods = new Map<string, Pod>()

  async function run(pod: Pod, task: StartTask): Promise<void> {
    const { ref } = pod
    const client = createClient({ url: task.engine.serverUrl, token: task.engine.bootstrap, transport: options.transport })
    const end = (how: 'ended' | 'crashed' | 'killed'): { type: 'pod-ended'; how: typeof how } => ({ type: 'pod-ended', how })
    observe({ ...ref, at: clock.now(), type: 'pod-started' })
    let message = 'The engine ended.'
    try {
      await runFakeEngine({ client, ref, script, clock, log, observe, signal: pod.controller.signal })
      observe({ ...ref, at: clock.now(), ...end('ended') })
    } catch (error) {
      message = error instanceof Error ? error.message : String(error)
      if (isFault(error, 'attempt-stale', 'claim-used', 'unauthenticated')) observe({ ...ref, at: clock.now(), type: 'fenced' })
      else if (!(error instanceof FakeCrash) && !isAbort(error)) log.warn({ err: error, ...ref }, 'fake engine failed')
      if (error instanceof FakeCrash) {
        pod.silent ||= draw(script.seed, ref.buildId, ref.attempt, 'silent') < script.silentChance
        observe({ ...ref, at: clock.now(), ...end('crashed'), point: error.point })
      } else observe({ ...ref, at: clock.now(), ...end(isAbort(error) ? 'killed' : 'ended') })
    }
    pod.live = false
    if (!pod.silent) report({ ...ref, state: 'lost', object: 'engine', reason: 'pod-failed', message })
  }

  function start(task: StartTask): void {
    const ref = { buildId: task.buildId, attempt: task.attempt }
    if (pods.has(attemptKey(ref))) return
    const pod: Pod = { ref, controller: new AbortController(), ended: Promise.resolve(), live: true, silent: false }
    pods.set(attemptKey(ref), pod)
    pod.ended = run(pod, task)
    report({ ...ref, state: 'running', object: 'engine' })
  }

  async function remove(ref: AttemptRef): Promise<void> {
    const pod = pods.get(attemptKey(ref))
    if (pod === undefined) return
    pod.silent = true
    pod.controller.abort(new DOMException('the pod is deleted', 'AbortError'))
    await pod.ended
    pods.delete(attemptKey(ref))
  }

  return {
    executor(context: ExecutorContext): Executor {
      report = context.report
      for (const pod of pods.values())
        if (!pod.live && !pod.silent)
          report({ ...pod.ref, state: 'lost', object: 'engine', reason: 'pod-failed', message: 'The engine ended.' })
      return {
        kind: 'fake',
        start: async (task) => start(task),
        stop: (task) => remove({ buildId: task.buildId, attempt: task.attempt }),
        attempts: async () => [...pods.values()].map(({ ref }) => ref),
        close: async () => {
          if (report === context.report) report = () => undefined
        },
      }
    },
    running: () => [...pods.values()].filter(({ live }) => live).map(({ ref }) => ref),
    kill(ref, { silent = false } = {}) {
      const pod = pods.get(attemptKey(ref))
      if (pod === undefined || !pod.live) return false
      pod.silent = silent
      pod.controller.abort(new DOMException('killed from outside', 'AbortError'))
      return true
    },
    setScript(changes) {
      script = { ...script, ...changes }
    },
    async close() {
      await Promise.all([...pods.values()].map(({ ref }) => remove(ref)))
    },
  }
}

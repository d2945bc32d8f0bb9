/**
 * Runs fake engines instead of pods. It outlives the agents that use it, as a cluster does: an agent can be discarded and another one started while
 * engines run.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  attemptKey,
  type AttemptRef,
  type ExecutorContext,
  type Executor,
  type OpenExecutor,
  type ReportFact,
} from '@windlass/agent'
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { createClient, type StartTask, type Transport } from '@windlass/protocol'
import { FakeCrash, runFakeEngine, type HoldStep, type Observe } from './engine.ts'
import { DEFAULT_SCRIPT, draw, type FakeScript } from './script.ts'

export interface FakeClusterOptions {
  /**
   * The transport of engines to the server; wrap it to cut, delay or repeat calls. Each live engine keeps one socket open for its commands and needs
   * another one.
   */
  readonly transport: Transport
  readonly clock: Clock
  readonly log: Logger
  readonly script?: Partial<FakeScript>
  /** Receives all facts about the engines. */
  readonly observe?: Observe
  /** Called by every running step; the step continues when this resolves. */
  readonly holdStep?: HoldStep
  /** Folder of the engines' spools. Default: a temporary folder that is removed with the cluster. */
  readonly spoolDir?: string
}

export interface FakeCluster {
  /** Opens the executor of an agent on this cluster. Only the last opened executor receives facts. */
  readonly executor: OpenExecutor
  /** Attempts whose engine is running. */
  running(): AttemptRef[]
  /**
   * Kills an engine from outside. With `silent` no fact is reported, so that only the missing heartbeats show it. Returns false if the engine was not
   * running.
   */
  kill(ref: AttemptRef, options?: { readonly silent?: boolean }): boolean
  /** Changes the script of engines that start from now on. */
  setScript(script: Partial<FakeScript>): void
  /** Kills all engines. Resolves when they have ended. */
  close(): Promise<void>
}

interface Pod {
  readonly ref: AttemptRef
  readonly controller: AbortController
  ended: Promise<void>
  live: boolean
  silent: boolean
}

/** Opens a cluster for fake engines: `startAgent({ executor: cluster.executor, ... })`. */
export function openFakeCluster(options: FakeClusterOptions): FakeCluster {
  const { clock, log } = options
  const observe: Observe = options.observe ?? (() => undefined)
  const holdStep: HoldStep = options.holdStep ?? (() => Promise.resolve())
  const own = options.spoolDir === undefined ? mkdtemp(join(tmpdir(), 'windlass-fake-')) : undefined
  const spools = own ?? Promise.resolve(options.spoolDir ?? '')
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
      const spoolDir = join(await spools, `${ref.buildId}-${ref.attempt}`)
      await runFakeEngine({ client, ref, script, clock, log, observe, spoolDir, holdStep, signal: pod.controller.signal })
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
    await rm(join(await spools, `${ref.buildId}-${ref.attempt}`), { recursive: true, force: true })
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
      if (own !== undefined) await rm(await own, { recursive: true, force: true })
    },
  }
}

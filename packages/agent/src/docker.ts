/**
 * Attempts on a Docker host: the engine runs in the process that opens this executor, and its steps are containers of the daemon of the
 * host. Starting an engine and removing containers are passed in, so that this package depends on neither.
 */
import { attempt as tick } from '@windlass/kit'
import type { StartTask } from '@windlass/protocol'
import { attemptKey, type AttemptRef, type ExecutorContext, type Executor, type OpenExecutor } from './executor.ts'

export interface DockerParts {
  /**
   * Runs one engine and resolves when it ends, whatever the result of the build. Aborting the signal kills it; no step may start
   * afterwards.
   */
  runEngine(task: StartTask, signal: AbortSignal): Promise<void>
  /** Removes the containers and networks labeled with the attempt. Resolves when none is left. */
  sweep(ref: AttemptRef): Promise<void>
  /** Attempts that still have containers on the host. */
  list(): Promise<readonly AttemptRef[]>
}

interface Run {
  readonly ref: AttemptRef
  readonly controller: AbortController
  readonly ended: Promise<void>
}

/** Opens the executor of a Docker host. Removes containers that an earlier process left and reports their attempts lost. */
export function dockerExecutor(parts: DockerParts): OpenExecutor {
  return (context) => openDocker(parts, context)
}

function openDocker(parts: DockerParts, { report, log, clock }: ExecutorContext): Executor {
  const runs = new Map<string, Run>()
  const adopted = tick(log, 'remove what an earlier process left', removeLeftovers)

  async function removeLeftovers(): Promise<void> {
    for (const ref of await parts.list()) {
      if (runs.has(attemptKey(ref))) continue
      report({ ...ref, state: 'lost', reason: 'engine-lost', message: 'The process that ran the engine was restarted.' })
      await parts.sweep(ref)
      report({ ...ref, state: 'gone' })
    }
  }

  async function run(task: StartTask, ref: AttemptRef, signal: AbortSignal): Promise<void> {
    let message = 'The engine ended.'
    try {
      await parts.runEngine(task, signal)
    } catch (error) {
      if (!signal.aborted) log.error({ err: error, ...ref }, 'engine failed')
      message = error instanceof Error ? error.message : String(error)
    }
    // Harmless if the engine has reported its end: the server has the result already.
    if (!signal.aborted) report({ ...ref, state: 'lost', object: 'engine', reason: 'engine-lost', message })
  }

  return {
    kind: 'docker',
    async start(task) {
      await adopted
      const ref = { buildId: task.buildId, attempt: task.attempt }
      if (runs.has(attemptKey(ref))) return
      const controller = new AbortController()
      runs.set(attemptKey(ref), { ref, controller, ended: run(task, ref, controller.signal) })
      report({ ...ref, state: 'running', object: 'engine' })
    },
    async stop(task, signal) {
      const ref = { buildId: task.buildId, attempt: task.attempt }
      const running = runs.get(attemptKey(ref))
      if (running !== undefined) {
        const over = new AbortController()
        const grace = clock.sleep(task.graceMs, AbortSignal.any([signal, over.signal])).catch(() => undefined)
        await Promise.race([running.ended, grace])
        over.abort()
        signal.throwIfAborted()
        running.controller.abort(new DOMException('the attempt is stopped', 'AbortError'))
        await running.ended
      }
      await parts.sweep(ref)
      runs.delete(attemptKey(ref))
    },
    async attempts() {
      await adopted
      const left = [...(await parts.list()), ...[...runs.values()].map(({ ref }) => ref)]
      return [...new Map(left.map((ref) => [attemptKey(ref), { buildId: ref.buildId, attempt: ref.attempt }])).values()]
    },
    async close() {
      for (const { controller } of runs.values()) controller.abort(new DOMException('the agent is closed', 'AbortError'))
      await Promise.all([...runs.values()].map(({ ended }) => ended))
    },
  }
}

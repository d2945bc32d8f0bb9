/** One executor for several clusters. Each runtime has its own watch and work, so that an unreachable cluster does not block the others. */
import { fault } from '@windlass/kit'
import type { StopTask } from '@windlass/protocol'
import type { AttemptLeft, Executor, OpenExecutor } from '../executor.ts'
import type { Cluster, Clusters } from '../runtimes/clusters.ts'

export interface ManyOptions {
  readonly clusters: Clusters
  readonly executorOf: (cluster: Cluster) => OpenExecutor
  /** Time that a cluster may take to list its attempts. Milliseconds. */
  readonly listMs?: number
}

const LIST_MS = 5_000

/** Sends each task to the cluster of its runtime. Clusters may be added and removed while it is open. */
export function clustersExecutor({ clusters, executorOf, listMs = LIST_MS }: ManyOptions): OpenExecutor {
  return (context) => {
    const { clock, log } = context
    const executors = new Map<string, Executor>()
    clusters.each((cluster) => {
      const { name } = cluster.entry
      const executor = executorOf(cluster)(context)
      executors.set(name, executor)
      return () => {
        if (executors.get(name) === executor) executors.delete(name)
        void executor.close()
      }
    })

    /** Lists the attempts in one cluster. Returns none if it does not answer; the next round asks it again. */
    async function leftIn(runtime: string, executor: Executor): Promise<readonly AttemptLeft[]> {
      const over = new AbortController()
      const late = clock.sleep(listMs, over.signal).then(() => {
        throw fault('cluster-unreachable', { message: `The cluster of ${runtime} did not answer within ${listMs} ms.` })
      })
      try {
        const left = await Promise.race([executor.attempts(), late])
        return left.map((ref) => ({ ...ref, runtime }))
      } catch (error) {
        log.warn({ err: error, runtime }, 'cannot list the attempts of the cluster')
        return []
      } finally {
        over.abort()
        late.catch(() => undefined)
      }
    }

    /** Returns the executor of a runtime. Only its own cluster can confirm that an attempt is gone. */
    function executorToStop(task: StopTask): Executor {
      const executor = executors.get(task.runtime)
      if (executor !== undefined) return executor
      throw fault('cluster-unreachable', { message: `This agent no longer serves the runtime ${task.runtime}.` })
    }

    return {
      kind: 'kubernetes',
      async start(task, signal) {
        const executor = executors.get(task.runtime)
        if (executor === undefined)
          throw fault('runtime-unknown', {
            message: `This agent does not serve the runtime ${task.runtime}; it serves ${[...executors.keys()].join(', ')}.`,
            hint: 'Attach the runtime to this agent, or let another agent serve it.',
            reason: 'policy-refused',
          })
        await executor.start(task, signal)
      },
      stop: async (task, signal) => executorToStop(task).stop(task, signal),
      async attempts() {
        return (await Promise.all([...executors].map(([runtime, executor]) => leftIn(runtime, executor)))).flat()
      },
      async check(job, signal) {
        return (await Promise.all([...executors.values()].map(async (one) => (await one.check?.(job, signal)) ?? []))).flat()
      },
      async readData(object, signal) {
        const executor = executors.get(object.runtime)
        if (executor?.readData !== undefined) return executor.readData(object, signal)
        throw fault('cluster-unreachable', { message: `This agent no longer serves the runtime ${object.runtime}.` })
      },
      disks: {
        async list(signal) {
          const found = await Promise.all([...executors.values()].map(async ({ disks }) => disks?.list(signal)))
          return { disks: found.flatMap((one) => one?.disks ?? []), failed: found.flatMap((one) => one?.failed ?? []) }
        },
        async remove(disk, signal) {
          const disks = executors.get(disk.runtime)?.disks
          if (disks !== undefined) return disks.remove(disk, signal)
          throw fault('cluster-unreachable', { message: `This agent no longer serves the runtime ${disk.runtime}.` })
        },
      },
      lastLog: async (ref, signal) => executors.get(ref.runtime)?.lastLog?.(ref, signal),
      async close() {
        await Promise.all([...executors.values()].map((executor) => executor.close()))
      },
    }
  }
}

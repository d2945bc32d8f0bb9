/**
 * The executor of Kubernetes. All state that must survive a restart is in the objects: labels name their attempt, and the watch reports
 * their state. An agent owns the labeled objects of its namespaces; two agents must not share a namespace.
 */
import { attempt as tick, isFault } from '@windlass/kit'
import type { Kube, KubeObject, Kind } from '@windlass/kube'
import { LABEL, labelValue } from '@windlass/protocol'
import { claimRefsOf, hostPathDisks, openDiskPool } from '@windlass/volumes'
import { attemptKey, type AttemptLeft, type ExecutorContext, type Executor, type Fact, type OpenExecutor } from '../executor.ts'
import { createAttempt } from './create.ts'
import { readEngineLog } from './engine-log.ts'
import { keepByNote } from './keep-disk.ts'
import { openPlacer } from './place.ts'
import { openPodWatch } from './pods.ts'
import type { AgentPolicy } from './policy/agent-policy.ts'
import { checkPolicy } from './policy/check.ts'
import { attemptOf } from './read-pod.ts'
import { removeAttempt } from './remove.ts'

export interface KubernetesOptions {
  readonly kube: Kube
  readonly policy: AgentPolicy
  /** Limits the executor to objects labeled with this runtime; without it, all builds of the namespaces are handled. */
  readonly runtime?: string | undefined
  /** Folder on the nodes for disks; undefined if the storage class provides the volumes. */
  readonly volumeParentDir?: string | undefined
}

const PARTS: readonly Kind[] = ['Pod', 'PersistentVolumeClaim', 'Secret']

/** Number of stopped attempts that are remembered; their last pod events come within seconds. */
const STOPPED_KEPT = 2_000

/** A set of the most recently added keys. */
class RecentKeys {
  readonly #keys = new Set<string>()
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  add(key: string): void {
    this.#keys.add(key)
    for (const oldest of this.#keys) if (this.#keys.size > this.#limit) this.#keys.delete(oldest)
  }

  has(key: string): boolean {
    return this.#keys.has(key)
  }
}

/** Opens the executor of a cluster and starts its watch. */
export function kubernetesExecutor(options: KubernetesOptions): OpenExecutor {
  return (context) => openExecutor(options, context)
}

function openExecutor(
  { kube, policy, runtime, volumeParentDir }: KubernetesOptions,
  { report, clock, log }: ExecutorContext,
): Executor {
  const disks = volumeParentDir === undefined ? undefined : openDiskPool({ kube, clock, maker: hostPathDisks(volumeParentDir) })
  const { namespaces } = policy
  const labels = runtime === undefined ? LABEL.build : `${LABEL.build},${LABEL.runtime}=${labelValue(runtime)}`
  const stopped = new RecentKeys(STOPPED_KEPT)
  // The end of a pod that was stopped is expected; a stopped attempt never runs again.
  const reportLive = (fact: Fact): void => {
    if (!stopped.has(attemptKey(fact))) report(fact)
  }
  const watched = { kube, clock, log, namespaces, labels, report: reportLive }
  const pods = openPodWatch({ ...watched, onPlaced: (pod, node) => void notePlace(pod, node) })
  const placer = openPlacer({ kube, clock, log, watch: pods })
  const remove = { kube, clock, log, namespaces, follow: pods.follow.bind(pods) }

  async function notePlace(pod: KubeObject, node: string): Promise<void> {
    if (disks === undefined) return
    const claims = claimRefsOf(pod)
    await tick(log, 'note the node of a disk', async () => Promise.all(claims.map((claim) => disks.assignNode(claim, node))))
  }

  return {
    kind: 'kubernetes',
    async start(task, signal) {
      checkPolicy(task, policy)
      try {
        await createAttempt({ kube, clock, log, disks, placer, report: reportLive }, task, signal)
      } catch (error) {
        // Removes what was created before the refusal. If this fails, the stop task of the server removes the rest.
        if (isFault(error) && !error.retryable)
          void tick(log, 'undo', () => removeAttempt(remove, { ...task, graceMs: 0 }, signal))
        throw error
      }
    },
    async stop(task, signal) {
      stopped.add(attemptKey(task))
      // Before the claim is deleted, so that the disk is never free in between.
      const until = task.keepDiskUntil
      if (until !== undefined && disks !== undefined) await disks.keep(task.buildId, until)
      else if (until !== undefined && until > 0) await keepByNote({ kube, namespaces, clock, log }, task, until, signal)
      await removeAttempt(remove, task, signal)
    },
    async attempts() {
      const selections = namespaces.flatMap((namespace) => PARTS.map((kind) => ({ kind, namespace, labels })))
      const objects = (await Promise.all(selections.map((selection) => kube.list(selection)))).flat()
      const refs = objects.flatMap((object): AttemptLeft[] => {
        const ref = attemptOf(object)
        const expires = Number(object.metadata.labels?.[LABEL.expires])
        return ref === undefined ? [] : [{ ...ref, expiresAt: expires > 0 ? expires * 1000 : undefined }]
      })
      return [...new Map(refs.map((ref) => [attemptKey(ref), ref])).values()]
    },
    lastLog: (ref, signal) => readEngineLog({ kube, namespaces }, ref, signal),
    close: () => pods.close(),
  }
}

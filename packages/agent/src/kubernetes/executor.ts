/**
 * Attempts on Kubernetes. Everything that must survive a restart is in the objects: their labels say whose they are, the watch says how
 * they are. An agent owns the labelled objects of its namespaces: two agents must not share one.
 */
import { attempt as tick, isFault } from '@windlass/kit'
import type { Kube, KubeObject, Kind } from '@windlass/kube'
import { LABEL, labelValue } from '@windlass/protocol'
import { hostPathDisks, openDiskPool } from '@windlass/volumes'
import { attemptKey, type AttemptLeft, type ExecutorContext, type Executor, type Fact, type OpenExecutor } from '../executor.ts'
import { claimsOf } from './claims.ts'
import { createAttempt } from './create.ts'
import { keepByNote } from './keep.ts'
import { openPlacer } from './place.ts'
import { openPodWatch } from './pods.ts'
import { checkPolicy, type AgentPolicy } from './policy.ts'
import { attemptOf } from './read-pod.ts'
import { removeAttempt } from './remove.ts'

export interface KubernetesOptions {
  readonly kube: Kube
  readonly policy: AgentPolicy
  /** Looks only at what is labelled with this runtime; at every build of its namespaces when absent. */
  readonly runtime?: string | undefined
  /** Folder on the nodes for disks; undefined where the storage class makes its own volumes. */
  readonly volumeParentDir?: string | undefined
}

const PARTS: readonly Kind[] = ['Pod', 'PersistentVolumeClaim', 'Secret']

/** A pod is created right after its disk was bound. */
const SCHEDULER_LAG_MS = 50

/** How many stopped attempts are remembered: their last pod events come within seconds. */
const STOPPED_KEPT = 2_000

/** The last keys that were added. */
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

/** Opens the executor of a cluster; its watch begins at once. */
export function kubernetesExecutor(options: KubernetesOptions): OpenExecutor {
  return (context) => openExecutor(options, context)
}

function openExecutor(
  { kube, policy, runtime, volumeParentDir }: KubernetesOptions,
  { report, clock, log }: ExecutorContext,
): Executor {
  const disks =
    volumeParentDir === undefined
      ? undefined
      : openDiskPool({ kube, clock, maker: hostPathDisks(volumeParentDir), schedulerLagMs: SCHEDULER_LAG_MS })
  const { namespaces } = policy
  const labels = runtime === undefined ? LABEL.build : `${LABEL.build},${LABEL.runtime}=${labelValue(runtime)}`
  const stopped = new RecentKeys(STOPPED_KEPT)
  // The end of a pod that was told to end is no news; an attempt that was stopped never runs again.
  const reportLive = (fact: Fact): void => {
    if (!stopped.has(attemptKey(fact))) report(fact)
  }
  const watched = { kube, clock, log, namespaces, labels, report: reportLive }
  const pods = openPodWatch({ ...watched, onPlaced: (pod, node) => void notePlace(pod, node) })
  const placer = openPlacer({ kube, clock, log, watch: pods })
  const remove = { kube, clock, log, namespaces, follow: pods.follow.bind(pods) }

  async function notePlace(pod: KubeObject, node: string): Promise<void> {
    if (disks === undefined) return
    const { namespace } = pod.metadata
    const claims = claimsOf(pod).map((name) => ({ kind: 'PersistentVolumeClaim', name, namespace }) as const)
    await tick(log, 'note the node of a disk', async () => Promise.all(claims.map((claim) => disks.assignNode(claim, node))))
  }

  return {
    kind: 'kubernetes',
    async start(task, signal) {
      checkPolicy(task, policy)
      try {
        await createAttempt({ kube, clock, log, disks, placer }, task, signal)
      } catch (error) {
        // What was made before the refusal goes again; the server's stop task finds what is left should this fail.
        if (isFault(error) && !error.retryable)
          void tick(log, 'undo', () => removeAttempt(remove, { ...task, graceMs: 0 }, signal))
        throw error
      }
    },
    async stop(task, signal) {
      stopped.add(attemptKey(task))
      // Before the claim goes, so that nobody finds the disk free in between.
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
    close: () => pods.close(),
  }
}

/**
 * The executor of Kubernetes. All state that must survive a restart is in the objects: labels name their attempt, and the watch reports
 * their state. An agent owns the labeled objects of its namespaces; two agents must not share a namespace.
 */
import { attempt as tick, isFault } from '@windlass/kit'
import type { Kube, KubeObject, Kind } from '@windlass/kube'
import { LABEL, labelValue, type StartTask } from '@windlass/protocol'
import { claimRefsOf, hostPathDisks, openDiskPool } from '@windlass/volumes'
import {
  attemptKey,
  type AttemptLeft,
  type AttemptRef,
  type ExecutorContext,
  type Executor,
  type Fact,
  type OpenExecutor,
} from '../executor.ts'
import { checkCluster } from './check-cluster.ts'
import { createAttempt } from './create.ts'
import { readEngineLog } from './engine-log.ts'
import { clusterDisks } from './disks.ts'
import { keepByNote } from './keep-disk.ts'
import { openPlacer } from './place.ts'
import { openPodWatch } from './pods.ts'
import type { AgentPolicy } from './policy/agent-policy.ts'
import { checkPolicy } from './policy/check.ts'
import { readData } from './read-data.ts'
import { attemptOf } from './read-pod.ts'
import { removeAttempt } from './remove.ts'
import { startLimitOf, type StartRate } from '../starts/choose-starts.ts'
import { openNodeCores } from '../starts/node-cores.ts'
import { nodeGroupOf, placementOf } from '../starts/pod-nodes.ts'
import { openStartLimit, type PendingStart } from '../starts/start-limit.ts'

export interface KubernetesOptions {
  readonly kube: Kube
  readonly policy: AgentPolicy
  /** Limits the executor to objects labeled with this runtime; without it, all builds of the namespaces are handled. */
  readonly runtime?: string | undefined
  /** Folder on the nodes for disks; undefined if the storage class provides the volumes. */
  readonly volumeParentDir?: string | undefined
  /** How many attempts start at once, unless their runtime says otherwise. */
  readonly starts: StartRate
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
  { kube, policy, runtime, volumeParentDir, starts: rate }: KubernetesOptions,
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
  const starts = openStartLimit({ clock, log })
  const cores = openNodeCores({ kube, clock, log })
  const onStall = (ref: AttemptRef): void => starts.stall(attemptKey(ref))
  const pods = openPodWatch({
    kube,
    clock,
    log,
    namespaces,
    labels,
    report: reportLive,
    onPlaced: (pod, node) => void notePlace(pod, node),
    onState: (ref, pod, state) =>
      starts.see(attemptKey(ref), { uid: pod.metadata.uid ?? pod.metadata.name, nodeGroup: nodeGroupOf(pod), state }),
    onSynced: () => starts.synced(),
  })
  const placer = openPlacer({ kube, clock, log, watch: pods, onStall })
  const remove = { kube, clock, log, namespaces, follow: pods.follow.bind(pods) }

  async function notePlace(pod: KubeObject, node: string): Promise<void> {
    if (disks === undefined) return
    const claims = claimRefsOf(pod)
    await tick(log, 'note the node of a disk', async () => Promise.all(claims.map((claim) => disks.assignNode(claim, node))))
  }

  /** Describes a start for the limit. Its node group is that of the daemon, which needs most resources. */
  async function pendingStart(task: StartTask): Promise<PendingStart> {
    const { buildId, attempt, id: taskId, warm: isWarm = false } = task
    const ofTask = task.objects.filter(({ kind }) => kind === 'Pod')
    const [first] = ofTask
    const { perCore = rate.perCore, max = rate.max } = task.starts ?? {}
    const readLimit = async (): Promise<number> => startLimitOf({ perCore, max }, await cores.of(placementOf(first)))
    const limit = await readLimit()
    const onWait = (message: string): void =>
      reportLive({ buildId, attempt, state: 'waiting', reason: 'start-limit', message: message.slice(0, 8192) })
    const pods = ofTask.length
    return { key: attemptKey(task), taskId, isWarm, limit, readLimit, nodeGroup: nodeGroupOf(first), pods, onWait }
  }

  return {
    kind: 'kubernetes',
    async start(task, signal) {
      checkPolicy(task, policy)
      const start = await pendingStart(task)
      await starts.begin(start, signal)
      let outcome: 'created' | 'failed' = 'failed'
      try {
        await createAttempt({ kube, clock, log, disks, placer, report: reportLive, onStall }, task, signal)
        outcome = 'created'
      } catch (error) {
        // Removes what was created before the refusal. If this fails, the stop task of the server removes the rest.
        if (isFault(error) && !error.retryable)
          void tick(log, 'undo', () => removeAttempt(remove, { ...task, graceMs: 0 }, signal))
        throw error
      } finally {
        starts.end(start.key, outcome)
      }
    },
    async stop(task, signal) {
      stopped.add(attemptKey(task))
      starts.forget(attemptKey(task))
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
    async check(job, signal) {
      const own = job.runtimes.filter(({ name, namespace }) => namespace !== undefined && (runtime ?? name) === name)
      const checked = own.map(async ({ name, namespace = '', storageClass }) => {
        const found = await checkCluster({ kube, namespace, storageClass, makesDisks: disks !== undefined, signal })
        return found.map((finding) => ({ ...finding, runtime: name }))
      })
      return (await Promise.all(checked)).flat()
    },
    readData: (object, signal) => readData({ kube, policy }, object, signal),
    disks: clusterDisks({ kube, clock, namespaces, runtime }),
    lastLog: (ref, signal) => readEngineLog({ kube, namespaces }, ref, signal),
    close: () => pods.close(),
  }
}

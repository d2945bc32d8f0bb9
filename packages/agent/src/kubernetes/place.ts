/**
 * Finds nodes for both pods of an attempt. Kubernetes schedules each pod alone, so twenty builds started at once on a full cluster could
 * end with all engines placed and no daemon, each waiting for the others forever. So the daemon, which needs more room, is created first,
 * and its engine only when the daemon has a node. If engines find no room beside the daemons, all but the oldest of these attempts delete
 * their pods and wait. None of their engines has run yet, so nothing is lost.
 */
import type { Clock, Logger } from '@windlass/kit'
import { refOf, type Kube, type KubeObject as ClusterObject } from '@windlass/kube'
import type { KubeObject } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'
import type { PodChanges, PodWatch } from './pods.ts'
import { PodShape, ROOM_GRACE_SECONDS } from './read-pod.ts'
import { untilGone } from './until-gone.ts'

export interface PlaceOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly watch: Pick<PodWatch, 'follow' | 'ignore' | 'reportAgain'>
  /** Called when the pods of an attempt were deleted until there is room for them, and when they find no room while the watch is silent. */
  readonly onStall?: (ref: AttemptRef) => void
}

export interface PodPair {
  /** The pods that need the most room, created first. */
  readonly first: readonly KubeObject[]
  readonly second: readonly KubeObject[]
  /** Creates a pod, or adopts the existing one. Returns it. */
  readonly create: (pod: KubeObject) => Promise<ClusterObject>
}

export interface Placer {
  /** Creates the pods of an attempt. Resolves when each has a node, or is gone or refused for a reason that is reported as a fact. */
  place(ref: AttemptRef, pair: PodPair, signal: AbortSignal): Promise<void>
}

/** Time that a second pod may wait for room before the first one is deleted. Milliseconds. */
const ROOM_TIMEOUT_MS = 3_000
/** Time to wait for a change before checking again. Milliseconds. */
const RECHECK_MS = 1_000

export function openPlacer(options: PlaceOptions): Placer {
  /** Attempts that occupy room without being able to use it, oldest first. */
  const stuck = new Set<symbol>()
  return {
    async place(ref, pair, signal) {
      const self = Symbol(ref.buildId)
      using changes = options.watch.follow(ref)
      const look = { options, ref, changes, signal }
      const create = async (pod: KubeObject): Promise<ClusterObject> => {
        const created = await pair.create(pod)
        const { uid } = created.metadata
        // If an earlier deletion failed, this pod remains in use although it is ignored.
        if (uid !== undefined) options.watch.reportAgain(uid)
        return created
      }
      try {
        for (;;) {
          await untilPlaced(look, await Promise.all(pair.first.map(create)), () => Infinity)
          const second = await Promise.all(pair.second.map(create))
          const isOldest = (): boolean => stuck.size === 0 || stuck.values().next().value === self
          if (
            await untilPlaced(
              look,
              second,
              () => (isOldest() ? Infinity : ROOM_TIMEOUT_MS),
              () => stuck.add(self),
            )
          )
            return
          options.log.info({ buildId: ref.buildId, attempt: ref.attempt }, 'no room for both pods; deleting them to retry later')
          await deletePods(look, [...pair.second, ...pair.first])
          options.onStall?.(ref)
          stuck.delete(self)
          while (stuck.size > 0) await options.clock.sleep(RECHECK_MS / 4, signal)
        }
      } finally {
        stuck.delete(self)
      }
    },
  }
}

interface Look {
  readonly options: PlaceOptions
  readonly ref: AttemptRef
  readonly changes: PodChanges
  readonly signal: AbortSignal
}

/**
 * Waits until all pods have nodes. Returns false if a pod has found no room for `timeoutMs`. The state of the pods comes from the call that created
 * them and from the watch; they are read only if the watch is silent, because it may be interrupted.
 */
async function untilPlaced(
  { options, ref, changes, signal }: Look,
  pods: readonly ClusterObject[],
  timeoutMs: () => number,
  onStuck?: () => void,
): Promise<boolean> {
  const startedAt = options.clock.monotonic()
  for (let isWatched = true; ;) {
    const read = async (pod: ClusterObject): Promise<ClusterObject | undefined> =>
      isWatched ? lastSeen(changes, pod) : options.kube.find(refOf(pod), signal)
    const waiting = await Promise.all(pods.map(async (pod) => schedulingOf(await read(pod))))
    if (waiting.every((state) => state === 'placed')) return true
    const hasNoRoom = waiting.includes('no-room')
    if (hasNoRoom) onStuck?.()
    // The watch has not told it.
    if (hasNoRoom && !isWatched) options.onStall?.(ref)
    if (hasNoRoom && options.clock.monotonic() - startedAt > timeoutMs()) return false
    isWatched = await changes.next(RECHECK_MS, signal)
  }
}

/** Returns the last known state of a pod, or undefined if it is gone. */
function lastSeen(changes: PodChanges, pod: ClusterObject): ClusterObject | undefined {
  const change = changes.last(pod.metadata.uid ?? '')
  if (change === undefined) return pod
  return change.type === 'set' ? change.object : undefined
}

/** Returns the scheduling state of a pod. A pod that is gone, or waits for something other than room, counts as placed. */
function schedulingOf(found: ClusterObject | undefined): 'placed' | 'new' | 'no-room' {
  if (found === undefined) return 'placed'
  const { spec, status } = PodShape.parse(found)
  if (spec.nodeName !== undefined || status.phase !== 'Pending') return 'placed'
  const refusal = status.conditions.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  if (refusal === undefined) return 'new'
  return /insufficient|too many pods/i.test(refusal.message ?? '') ? 'no-room' : 'placed'
}

/** Deletes pods of an attempt whose engine has not started. Resolves when they are gone. Throws like `untilGone`. */
async function deletePods(
  { options: { kube, clock, watch }, changes, signal }: Look,
  pods: readonly KubeObject[],
): Promise<void> {
  for (const pod of pods) {
    const found = await kube.find(refOf(pod), signal)
    if (found?.metadata.uid === undefined) continue
    watch.ignore(found.metadata.uid)
    await kube.delete(refOf(pod), { uid: found.metadata.uid, graceSeconds: ROOM_GRACE_SECONDS, signal })
  }
  const pause = async (ms: number): Promise<void> => void (await changes.next(ms, signal))
  for (const pod of pods) await untilGone(refOf(pod), { kube, clock, signal, pause })
}

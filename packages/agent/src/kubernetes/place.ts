/**
 * Both pods of an attempt must find room, and Kubernetes places each alone: twenty builds at once on a full cluster would end with all
 * engines placed and no daemon, each waiting for the others for ever. So the daemon, which needs more, comes first, and its engine only
 * when it has a node. When engines find no room beside the daemons, all but the oldest of these attempts give their place back and wait:
 * none of their engines has run yet, so nothing is lost.
 */
import type { Clock, Logger } from '@windlass/kit'
import { refOf, type Kube, type ObjectRef } from '@windlass/kube'
import type { KubeObject } from '@windlass/protocol'
import type { AttemptRef } from '../executor.ts'
import type { PodChanges, PodWatch } from './pods.ts'
import { PodShape } from './read-pod.ts'

export interface PlaceOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly watch: Pick<PodWatch, 'follow' | 'ignore'>
}

export interface PodPair {
  /** The pods that need most room; made first. */
  readonly first: readonly KubeObject[]
  readonly second: readonly KubeObject[]
  readonly create: (pod: KubeObject) => Promise<unknown>
}

export interface Placer {
  /** Creates the pods of an attempt; resolves when each has a node, or is gone or refused in a way that facts tell. */
  place(ref: AttemptRef, pair: PodPair, signal: AbortSignal): Promise<void>
}

/** How long a second pod may wait for room before the first one gives its place back. */
const PATIENCE_MS = 3_000
/** How long to wait for a change before looking again. */
const LOOK_AGAIN_MS = 1_000

export function openPlacer(options: PlaceOptions): Placer {
  /** Attempts that hold a place without being able to use it, the oldest first. */
  const stuck = new Set<symbol>()
  return {
    async place(ref, pair, signal) {
      const self = Symbol(ref.buildId)
      using changes = options.watch.follow(ref)
      const look = { options, changes, signal }
      try {
        for (;;) {
          await Promise.all(pair.first.map(pair.create))
          await untilPlaced(look, pair.first, () => Infinity)
          await Promise.all(pair.second.map(pair.create))
          const isOldest = (): boolean => stuck.size === 0 || stuck.values().next().value === self
          if (
            await untilPlaced(
              look,
              pair.second,
              () => (isOldest() ? Infinity : PATIENCE_MS),
              () => stuck.add(self),
            )
          )
            return
          options.log.info({ buildId: ref.buildId, attempt: ref.attempt }, 'no room for both pods, giving the place back')
          await giveBack(look, [...pair.second, ...pair.first])
          stuck.delete(self)
          while (stuck.size > 0) await options.clock.sleep(LOOK_AGAIN_MS / 4, signal)
        }
      } finally {
        stuck.delete(self)
      }
    },
  }
}

interface Look {
  readonly options: PlaceOptions
  readonly changes: PodChanges
  readonly signal: AbortSignal
}

/** False when a pod has found no room for as long as `patience` says. */
async function untilPlaced(
  { options, changes, signal }: Look,
  pods: readonly KubeObject[],
  patience: () => number,
  onStuck?: () => void,
): Promise<boolean> {
  const startedAt = options.clock.monotonic()
  for (;;) {
    const waiting = await Promise.all(pods.map((pod) => lacksRoom(options.kube, refOf(pod), signal)))
    if (waiting.every((state) => state === 'placed')) return true
    const hasNoRoom = waiting.includes('no-room')
    if (hasNoRoom) onStuck?.()
    if (hasNoRoom && options.clock.monotonic() - startedAt > patience()) return false
    await changes.next(LOOK_AGAIN_MS, signal)
  }
}

/** A pod that is gone, or waits for something else than room, is not waited for. */
async function lacksRoom(kube: Kube, ref: ObjectRef, signal: AbortSignal): Promise<'placed' | 'new' | 'no-room'> {
  const found = await kube.find(ref, signal)
  if (found === undefined) return 'placed'
  const { spec, status } = PodShape.parse(found)
  if (spec.nodeName !== undefined || status.phase !== 'Pending') return 'placed'
  const refusal = status.conditions.find(({ type, status: is }) => type === 'PodScheduled' && is === 'False')
  if (refusal === undefined) return 'new'
  return /insufficient|too many pods/i.test(refusal.message ?? '') ? 'no-room' : 'placed'
}

/** Deletes pods that have not begun; their end is no loss. Resolves when they are gone. */
async function giveBack({ options: { kube, watch }, changes, signal }: Look, pods: readonly KubeObject[]): Promise<void> {
  for (const pod of pods) {
    const found = await kube.find(refOf(pod), signal)
    if (found?.metadata.uid === undefined) continue
    watch.ignore(found.metadata.uid)
    await kube.delete(refOf(pod), { uid: found.metadata.uid, graceSeconds: 1, signal })
  }
  for (const pod of pods) while ((await kube.find(refOf(pod), signal)) !== undefined) await changes.next(LOOK_AGAIN_MS, signal)
}

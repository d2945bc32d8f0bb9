/** Waits for objects that Kubernetes is deleting. */
import type { Clock } from '@windlass/kit'
import { beingDeleted, type Kube, type ObjectRef } from '@windlass/kube'

export interface GoneOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Resolves when the object may have changed, at the latest after `ms`. Default: sleeps. */
  readonly pause?: (ms: number) => Promise<void>
}

/** Interval between looks at the object. Milliseconds. */
const RECHECK_MS = 1_000
/**
 * Time beyond the grace of the deletion in which a kubelet under load ends the containers and unmounts the volumes. Five starts of a task that
 * each wait for this time still fit into the start timeout of the server. Milliseconds.
 */
const MARGIN_MS = 120_000

/**
 * Resolves when an object is not being deleted, usually because it is gone. Throws the fault of `beingDeleted` if the deletion takes longer than its
 * grace and a margin.
 */
export async function untilGone(ref: ObjectRef, { kube, clock, signal, pause }: GoneOptions): Promise<void> {
  const startedAt = clock.monotonic()
  for (;;) {
    const found = await kube.find(ref, signal)
    if (found?.metadata.deletionTimestamp === undefined) return
    const graceMs = (found.metadata.deletionGracePeriodSeconds ?? 0) * 1_000
    if (clock.monotonic() - startedAt > graceMs + MARGIN_MS) throw beingDeleted(found)
    await (pause === undefined ? clock.sleep(RECHECK_MS, signal) : pause(RECHECK_MS))
  }
}

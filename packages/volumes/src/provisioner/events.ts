/** What the provisioner says on a claim or a volume: events, as `kubectl describe` and the agent show them. */
import { isFault, sha256, type Clock, type Logger } from '@windlass/kit'
import type { Kube, Metadata, ObjectRef } from '@windlass/kube'

export interface Told {
  /** As other provisioners call it: `ProvisioningSucceeded`, `ProvisioningFailed`, `VolumeFailedDelete`. */
  readonly reason: 'ProvisioningSucceeded' | 'ProvisioningFailed' | 'WaitForPodScheduled' | 'VolumeFailedDelete'
  readonly message: string
}

export interface Teller {
  /** Tells; a failure to tell is logged and never stops the work. The same words again within a minute are told once. */
  tell(object: { readonly kind: string; readonly metadata: Metadata }, told: Told): Promise<void>
}

const AGAIN_MS = 60_000
const REMEMBERED = 1_000
const MESSAGE_LIMIT = 1_000

/** Opens a teller; events of volumes go to `default`, which is where Kubernetes looks for them. */
export function openTeller({ kube, clock, log }: { readonly kube: Kube; readonly clock: Clock; readonly log: Logger }): Teller {
  const told = new Map<string, { at: number; count: number }>()
  return {
    async tell({ kind, metadata }, { reason, message }) {
      const name = `${metadata.name.slice(0, 200)}.${sha256(`${metadata.uid}/${reason}/${message}`).slice(0, 16)}`
      const before = told.get(name)
      if (before !== undefined && clock.monotonic() - before.at < AGAIN_MS) return
      const count = (before?.count ?? 0) + 1
      told.delete(name)
      told.set(name, { at: clock.monotonic(), count })
      for (const oldest of told.keys()) if (told.size > REMEMBERED) told.delete(oldest)
      const namespace = metadata.namespace ?? 'default'
      const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z')
      const { uid, resourceVersion } = metadata
      const involvedObject = { apiVersion: 'v1', kind, name: metadata.name, namespace: metadata.namespace, uid, resourceVersion }
      const event = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace },
        involvedObject,
        type: reason === 'ProvisioningSucceeded' || reason === 'WaitForPodScheduled' ? 'Normal' : 'Warning',
        reason,
        message: message.slice(0, MESSAGE_LIMIT),
        source: { component: 'windlass-provisioner' },
        reportingComponent: 'windlass-provisioner',
        firstTimestamp: now,
        lastTimestamp: now,
        count,
      }
      try {
        const ref = { kind: 'Event', namespace, name } as const
        const isAgain = before !== undefined && (await wasPatched(kube, ref, { count, lastTimestamp: now }))
        if (!isAgain) await kube.apply(event, [])
      } catch (error) {
        log.warn({ err: error, reason }, 'an event was not told')
      }
    },
  }
}

/** False when Kubernetes has forgotten the event, which it does after an hour. */
async function wasPatched(kube: Kube, ref: ObjectRef, patch: Record<string, unknown>): Promise<boolean> {
  try {
    await kube.patch(ref, patch)
    return true
  } catch (error) {
    if (isFault(error, 'not-found')) return false
    throw error
  }
}

/** What of a failure a user should read; undefined for what mends itself within moments, and for bugs. */
export function wordsOf(error: unknown): string | undefined {
  if (!isFault(error)) return undefined
  const isPassing = error.code === 'conflict' || error.code === 'not-found' || error.code === 'cluster-unreachable'
  return isPassing ? undefined : error.message
}

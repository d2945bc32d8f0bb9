/** Writes Kubernetes events on claims and volumes, which `kubectl describe` and the agent show. */
import { isFault, sha256, type Clock, type Logger } from '@windlass/kit'
import type { Kube, Metadata, ObjectRef } from '@windlass/kube'

export interface EventFields {
  /** Same reasons as other provisioners: `ProvisioningSucceeded`, `ProvisioningFailed`, `VolumeFailedDelete`. */
  readonly reason: 'ProvisioningSucceeded' | 'ProvisioningFailed' | 'WaitForPodScheduled' | 'VolumeFailedDelete'
  readonly message: string
}

export interface EventWriter {
  /** Writes an event. A failure is logged and never thrown. An identical event within a minute is written once. */
  write(object: { readonly kind: string; readonly metadata: Metadata }, event: EventFields): Promise<void>
}

const REPEAT_MS = 60_000
const REMEMBERED = 1_000
const MESSAGE_LIMIT = 1_000

/** Opens a writer of events. Events of volumes go to `default`, where Kubernetes looks for them. */
export function openEventWriter({
  kube,
  clock,
  log,
}: {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
}): EventWriter {
  const written = new Map<string, { at: number; count: number }>()
  return {
    async write({ kind, metadata }, { reason, message }) {
      const name = `${metadata.name.slice(0, 200)}.${sha256(`${metadata.uid}/${reason}/${message}`).slice(0, 16)}`
      const before = written.get(name)
      if (before !== undefined && clock.monotonic() - before.at < REPEAT_MS) return
      const count = (before?.count ?? 0) + 1
      written.delete(name)
      written.set(name, { at: clock.monotonic(), count })
      for (const oldest of written.keys()) if (written.size > REMEMBERED) written.delete(oldest)
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
        const isUpdated = before !== undefined && (await patchEvent(kube, ref, { count, lastTimestamp: now }))
        if (!isUpdated) await kube.apply(event, [])
      } catch (error) {
        log.warn({ err: error, reason }, 'failed to write an event')
      }
    },
  }
}

/** Updates an event. Returns false if Kubernetes has removed it, which it does after an hour. */
async function patchEvent(kube: Kube, ref: ObjectRef, patch: Record<string, unknown>): Promise<boolean> {
  try {
    await kube.patch(ref, patch)
    return true
  } catch (error) {
    if (isFault(error, 'not-found')) return false
    throw error
  }
}

/** Returns the message of a failure for users; undefined for transient failures and bugs. */
export function messageOf(error: unknown): string | undefined {
  if (!isFault(error)) return undefined
  const isTransient = error.code === 'conflict' || error.code === 'not-found' || error.code === 'cluster-unreachable'
  return isTransient ? undefined : error.message
}

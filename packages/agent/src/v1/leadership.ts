/**
 * Which of several processes with one identity polls: the holder of a Lease (coordination.k8s.io). Times of others are never compared with
 * our clock: a lease is over when it was seen unchanged for its whole length.
 */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'

export interface LeadershipOptions {
  readonly kube: Kube
  readonly namespace: string
  /** Name of the Lease. */
  readonly name: string
  /** Names this process; never used by another one. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Logger
  /** How long a holder that is silent keeps others waiting, milliseconds. */
  readonly leaseMs?: number
}

export interface Term {
  /** Aborted when the right is lost. */
  readonly signal: AbortSignal
  /** Gives the right back, so that the next one need not wait. */
  end(): Promise<void>
}

export interface Leadership {
  /** Resolves with the right to poll; rejects when the signal is aborted. */
  acquire(signal: AbortSignal): Promise<Term>
}

const LEASE_MS = 15_000
const Spec = z.looseObject({
  holderIdentity: z.string().nullish(),
  renewTime: z.string().nullish(),
  leaseTransitions: z.int().nullish(),
})

/** Always the one, where no Lease can be held. */
export function aloneLeadership(): Leadership {
  return {
    async acquire(signal) {
      signal.throwIfAborted()
      return { signal: new AbortController().signal, end: async () => undefined }
    },
  }
}

export function openLeadership(options: LeadershipOptions): Leadership {
  const { kube, namespace, name, holder, clock, log, leaseMs = LEASE_MS } = options
  const ref: ObjectRef = { kind: 'Lease', name, namespace }
  let seen = { version: '', at: -Infinity }

  /** Kubernetes wants microseconds. */
  const time = (): string => new Date(clock.now()).toISOString().replace('Z', '000Z')
  const fields = (more: object): object => ({
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    renewTime: time(),
    ...more,
  })

  /** Takes or renews the lease; false when another one holds it. */
  async function hold(signal?: AbortSignal): Promise<boolean> {
    const lease = await kube.find(ref, signal)
    if (lease === undefined) {
      const metadata = { name, namespace }
      const spec = fields({ acquireTime: time(), leaseTransitions: 0 })
      await kube.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, signal)
      return true
    }
    const spec = Spec.parse(lease['spec'] ?? {})
    const isMine = spec.holderIdentity === holder
    if (!isMine && !isOver(lease, spec.holderIdentity)) return false
    const taken = isMine ? {} : { leaseTransitions: (spec.leaseTransitions ?? 0) + 1, acquireTime: time() }
    const { resourceVersion } = lease.metadata
    await kube.patch(ref, { metadata: { resourceVersion }, spec: fields(taken) }, { signal })
    return true
  }

  function isOver(lease: KubeObject, other: string | null | undefined): boolean {
    const version = lease.metadata.resourceVersion ?? ''
    if (version !== seen.version) seen = { version, at: clock.monotonic() }
    return (other ?? '') === '' || clock.monotonic() - seen.at > leaseMs
  }

  async function tryHold(signal: AbortSignal): Promise<boolean | undefined> {
    try {
      return await hold(signal)
    } catch (error) {
      if (isFault(error, 'conflict')) return false
      if (isFault(error, 'cluster-refused')) throw error
      if (!isAbort(error)) log.warn({ err: error }, 'the lease cannot be reached')
      return undefined
    }
  }

  async function renew(lost: AbortController, over: AbortSignal): Promise<void> {
    let renewedAt = clock.monotonic()
    while (!over.aborted) {
      await clock.sleep(leaseMs / 5, over).catch(() => undefined)
      if (over.aborted) return
      const held = await tryHold(over).catch(() => undefined)
      if (held === true) renewedAt = clock.monotonic()
      // Earlier than others may take it: what is under way must have time to end.
      if (held === false || clock.monotonic() - renewedAt > (leaseMs * 2) / 3) {
        log.warn({ lease: name }, 'the lease is lost')
        return lost.abort(new DOMException('the lease is lost', 'AbortError'))
      }
    }
  }

  async function giveBack(): Promise<void> {
    const lease = await kube.find(ref)
    if (Spec.safeParse(lease?.['spec']).data?.holderIdentity !== holder) return
    await kube.patch(ref, { metadata: { resourceVersion: lease?.metadata.resourceVersion }, spec: { holderIdentity: '' } })
  }

  return {
    async acquire(signal) {
      for (let isFirst = true; ; isFirst = false) {
        signal.throwIfAborted()
        if ((await tryHold(signal)) === true) break
        if (isFirst) log.info({ lease: name }, 'another process holds the lease; waiting')
        await clock.sleep(leaseMs / 5, signal)
      }
      const [lost, over] = [new AbortController(), new AbortController()]
      const renewing = renew(lost, over.signal)
      return {
        signal: lost.signal,
        async end() {
          over.abort()
          await renewing
          await giveBack().catch((error: unknown) => log.warn({ err: error }, 'lease not given back'))
        },
      }
    },
  }
}

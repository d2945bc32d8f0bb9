/**
 * Elects one of several processes that do the same work: the holder of a Lease (coordination.k8s.io). Times written by others are never compared with
 * our clock: a lease has expired if it was seen unchanged for its whole duration.
 *
 * A lease is a promise to the other replicas, not a lock. A process that is frozen longer than the lease notices the loss only when it continues, so
 * what it does in a term must be safe to do twice.
 */
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { z } from 'zod'
import type { Kube } from './client.ts'
import type { KubeObject, ObjectRef } from './objects.ts'

export interface LeadershipOptions {
  readonly kube: Kube
  readonly namespace: string
  /** Name of the Lease. */
  readonly name: string
  /** Labels of the Lease, if it is created. */
  readonly labels?: Readonly<Record<string, string>>
  /** Identifies this process; never used by another one. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Logger
  /** Duration of the lease: how long a silent holder blocks others. Milliseconds. */
  readonly leaseMs?: number
}

export interface Leadership {
  /**
   * Acquires the lease, calls `work` with a signal that is aborted when the lease is lost, releases the lease when `work` has ended, and starts over.
   * Resolves when `signal` is aborted and `work` has ended. Rejects with `cluster-refused` if this process may not use the lease (several calls in a
   * row were refused and none succeeded), and with the error of `work`.
   *
   * The signal of a term is aborted after two thirds of the lease without a renewal, so `work` has the last third to end before another process can
   * acquire it. After a crash nothing is released, and another process waits for the whole lease.
   */
  lead(work: (term: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>
}

const LEASE_MS = 15_000
/** Refused calls after which the process may not use the lease. A starting API server also refuses calls of processes that have the right. */
const MAX_REFUSALS = 3
const Spec = z.looseObject({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.number().nullish(),
  renewTime: z.string().nullish(),
  leaseTransitions: z.int().nullish(),
})

/** Returns a leadership without a lease: one term that is never lost, for a process that has no replicas. */
export function withoutElection(): Leadership {
  return {
    async lead(work, signal) {
      if (!signal.aborted) await work(new AbortController().signal)
    },
  }
}

/** Opens the leadership of a Lease, which is created if it does not exist. */
export function openLeadership(options: LeadershipOptions): Leadership {
  const { kube, namespace, name, labels = {}, holder, clock, log, leaseMs = LEASE_MS } = options
  const ref: ObjectRef = { kind: 'Lease', name, namespace }
  let seen = { version: '', at: -Infinity }
  /** Start of the last call that acquired or renewed the lease. Others count its duration from a later time. */
  let heldAt = -Infinity
  let refusals = 0
  let hasSucceeded = false

  /** Returns the time with the microseconds that Kubernetes requires. */
  const time = (): string => new Date(clock.now()).toISOString().replace('Z', '000Z')
  const fields = (more: object): object => ({
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(leaseMs / 1000),
    renewTime: time(),
    ...more,
  })

  /**
   * Acquires or renews the lease. Returns false if another holder has it, or if there is none to renew: the work of the term may have removed it, and
   * nobody would remove it a second time.
   */
  async function hold(why: 'acquire' | 'renew', signal?: AbortSignal): Promise<boolean> {
    const lease = await kube.find(ref, signal)
    if (lease === undefined && why === 'renew') return false
    if (lease === undefined) {
      const metadata = { name, namespace, labels }
      const spec = fields({ acquireTime: time(), leaseTransitions: 0 })
      await kube.create({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, signal)
      return true
    }
    const spec = Spec.parse(lease['spec'] ?? {})
    const isMine = spec.holderIdentity === holder
    if (!isMine && !isOver(lease, spec)) return false
    const acquired = isMine ? {} : { leaseTransitions: (spec.leaseTransitions ?? 0) + 1, acquireTime: time() }
    const { resourceVersion } = lease.metadata
    await kube.patch(ref, { metadata: { resourceVersion }, spec: fields(acquired) }, { signal })
    return true
  }

  /** Whether the lease is free or has expired. Its duration is that of its holder, which may differ from ours. */
  function isOver(lease: KubeObject, { holderIdentity, leaseDurationSeconds }: z.infer<typeof Spec>): boolean {
    const version = lease.metadata.resourceVersion ?? ''
    if (version !== seen.version) seen = { version, at: clock.monotonic() }
    const durationMs = (leaseDurationSeconds ?? leaseMs / 1000) * 1000
    return (holderIdentity ?? '') === '' || clock.monotonic() - seen.at > durationMs
  }

  /** Returns undefined if the API server cannot be asked. */
  async function tryHold(why: 'acquire' | 'renew', signal: AbortSignal): Promise<boolean | undefined> {
    const startedAt = clock.monotonic()
    try {
      const held = await hold(why, signal)
      hasSucceeded = true
      if (held) heldAt = startedAt
      return held
    } catch (error) {
      if (isFault(error, 'conflict')) return false
      if (isFault(error, 'cluster-refused')) refusals += 1
      if (isFault(error, 'cluster-refused') && !hasSucceeded && refusals >= MAX_REFUSALS) throw error
      if (!isAbort(error)) log.warn({ err: error }, 'cannot read or renew the lease')
      return undefined
    }
  }

  async function renew(lost: AbortController, over: AbortSignal): Promise<void> {
    // Ends the term before another process can acquire the lease, because work in progress needs time to end.
    const leftMs = (): number => heldAt + (leaseMs * 2) / 3 - clock.monotonic()
    for (let held: boolean | undefined = true; held !== false && leftMs() > 0;) {
      held = await renewWithin(leftMs(), over)
      if (over.aborted) return
    }
    log.warn({ lease: name }, 'lost the lease')
    lost.abort(new DOMException('the lease is lost', 'AbortError'))
  }

  /** Pauses and renews the lease. Gives up after a time, because a call to a hanging API server takes longer than the lease. */
  async function renewWithin(ms: number, over: AbortSignal): Promise<boolean | undefined> {
    const [late, done] = [new AbortController(), new AbortController()]
    const timeout = clock.sleep(ms, AbortSignal.any([over, done.signal])).then(() => late.abort())
    timeout.catch(() => undefined)
    const signal = AbortSignal.any([over, late.signal])
    try {
      await clock.sleep(leaseMs / 5, signal)
      return await tryHold('renew', signal)
    } catch {
      return undefined
    } finally {
      done.abort()
    }
  }

  async function release(): Promise<void> {
    const lease = await kube.find(ref)
    if (Spec.safeParse(lease?.['spec']).data?.holderIdentity !== holder) return
    await kube.patch(ref, { metadata: { resourceVersion: lease?.metadata.resourceVersion }, spec: { holderIdentity: '' } })
  }

  /** Waits for the lease. Returns false if the signal is aborted first. */
  async function acquire(signal: AbortSignal): Promise<boolean> {
    let isWaiting = false
    while (!signal.aborted) {
      const held = await tryHold('acquire', signal)
      if (held === true) return true
      if (held === false && !isWaiting) {
        isWaiting = true
        log.info({ lease: name }, 'another process holds the lease; waiting')
      }
      await clock.sleep(leaseMs / 5, signal).catch(() => undefined)
    }
    return false
  }

  return {
    async lead(work, signal) {
      while (await acquire(signal)) {
        const [lost, over] = [new AbortController(), new AbortController()]
        const renewing = renew(lost, over.signal)
        try {
          await work(lost.signal)
        } finally {
          over.abort()
          await renewing
          await release().catch((error: unknown) => log.warn({ err: error }, 'failed to release the lease'))
        }
      }
    },
  }
}

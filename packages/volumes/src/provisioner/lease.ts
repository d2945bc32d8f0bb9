/**
 * One provisioner at a time (coordination.k8s.io/v1 Lease). It spares the cluster double work; what keeps builds apart are the compare
 * and swap writes on volumes, so a holder that was asleep for longer than its lease does no harm.
 */
import { fault, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'

export interface LeaseOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly name: string
  readonly namespace: string
  /** Who we are: different for every process. */
  readonly holder: string
  readonly seconds: number
}

export interface HeldLease {
  /** Names this installation for as long as its lease object exists. */
  readonly uid: string
  /** Rejects with `conflict` when another process took over or the lease could not be renewed in time; resolves when given back. */
  readonly lost: Promise<void>
  /** Gives the lease back, so that the next process need not wait. */
  release(): Promise<void>
}

const LeaseShape = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), resourceVersion: z.string() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().default(''),
      leaseDurationSeconds: z.number().default(15),
      renewTime: z.string().default(''),
      leaseTransitions: z.number().default(0),
    })
    .prefault({}),
})
type LeaseShape = z.infer<typeof LeaseShape>

/** Waits until the lease is ours, then renews it at a third of its length. */
export async function holdLease(options: LeaseOptions, signal: AbortSignal): Promise<HeldLease> {
  const { clock, log } = options
  // Clocks differ between machines: a lease has lapsed when it was not renewed for its length by our clock.
  let seen = { renewTime: '', at: clock.monotonic() }
  for (;;) {
    const lease = LeaseShape.parse(await ensure(options, signal))
    if (seen.renewTime !== lease.spec.renewTime) seen = { renewTime: lease.spec.renewTime, at: clock.monotonic() }
    const isFree = lease.spec.holderIdentity === '' || lease.spec.holderIdentity === options.holder
    const hasLapsed = clock.monotonic() - seen.at > lease.spec.leaseDurationSeconds * 1000
    const taken = isFree || hasLapsed ? await write(options, lease, signal) : undefined
    if (taken !== undefined) return keep(options, taken, signal)
    log.debug({ holder: lease.spec.holderIdentity }, 'another provisioner holds the lease')
    await clock.sleep(Math.min(1_000, (options.seconds * 1000) / 3), signal)
  }
}

function refOfLease({ name, namespace }: LeaseOptions): ObjectRef {
  return { kind: 'Lease', name, namespace }
}

async function ensure(options: LeaseOptions, signal: AbortSignal): Promise<KubeObject> {
  const found = await options.kube.find(refOfLease(options), signal)
  if (found !== undefined) return found
  const { name, namespace } = options
  const empty = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace }, spec: {} }
  return options.kube.apply(empty, [], signal)
}

/** The lease with our name in it, or undefined when somebody else was faster. */
async function write(options: LeaseOptions, lease: LeaseShape, signal?: AbortSignal): Promise<LeaseShape | undefined> {
  // Leases count in microseconds (MicroTime).
  const now = new Date(options.clock.now()).toISOString().replace('Z', '000Z')
  const isNew = lease.spec.holderIdentity !== options.holder
  const spec = {
    holderIdentity: options.holder,
    leaseDurationSeconds: options.seconds,
    renewTime: now,
    ...(isNew && { acquireTime: now, leaseTransitions: lease.spec.leaseTransitions + 1 }),
  }
  const patch = { metadata: { resourceVersion: lease.metadata.resourceVersion }, spec }
  try {
    return LeaseShape.parse(await options.kube.patch(refOfLease(options), patch, { signal }))
  } catch (error) {
    if (isFault(error, 'conflict', 'not-found')) return undefined
    throw error
  }
}

function keep(options: LeaseOptions, first: LeaseShape, signal: AbortSignal): HeldLease {
  const { clock, log, seconds } = options
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  let lease = first
  const renewing = (async () => {
    let renewedAt = clock.monotonic()
    while (!either.aborted) {
      await clock.sleep((seconds * 1000) / 3, either).catch(() => undefined)
      if (either.aborted) return
      try {
        const renewed = await write(options, lease, either)
        if (renewed === undefined) throw fault('conflict', { message: 'Another provisioner took over the lease.' })
        lease = renewed
        renewedAt = clock.monotonic()
      } catch (error) {
        if (either.aborted) return
        if (isFault(error, 'conflict') || clock.monotonic() - renewedAt > seconds * 1000)
          throw isFault(error, 'conflict')
            ? error
            : fault('conflict', { message: 'The lease could not be renewed in time.' }, error)
        log.warn({ err: error }, 'the lease was not renewed, trying again')
      }
    }
  })()
  return {
    uid: first.metadata.uid,
    lost: renewing,
    async release() {
      stop.abort()
      await renewing.catch(() => undefined)
      const patch = { metadata: { resourceVersion: lease.metadata.resourceVersion }, spec: { holderIdentity: '' } }
      await options.kube.patch(refOfLease(options), patch).catch(() => undefined)
    },
  }
}

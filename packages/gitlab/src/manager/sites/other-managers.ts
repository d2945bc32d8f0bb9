/** Finds other managers by their Leases: those that renew theirs no more, whether or not they have left jobs, and those with the system ID of this one. */
import { isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { LABELS } from '../records/job-record.ts'
import { systemIdOf } from './instance-name.ts'

export interface OtherManagersOptions {
  readonly kube: Pick<Kube, 'list'>
  readonly namespace: string
  /** Name of this process. */
  readonly instance: string
  readonly clock: Clock
}

export interface OtherManagers {
  /** Names of processes whose Lease is not renewed. */
  readonly silent: readonly string[]
  /** Names of other processes that live and have the system ID of this one. */
  readonly twins: readonly string[]
}

/** Time without a renewal after which a manager counts as silent. A Lease is renewed every 3 s. Milliseconds. */
const SILENT_MS = 30_000

interface Seen {
  readonly version: string
  /** Monotonic. Times of other machines are not compared with this clock. */
  readonly since: number
  /** True if it was renewed after it was first seen. */
  readonly isRenewed: boolean
}

/** Returns a function that looks for other managers. It finds none if the account may not list Leases. Throws other faults of the cluster. */
export function otherManagers({
  kube,
  namespace,
  instance,
  clock,
}: OtherManagersOptions): (signal: AbortSignal) => Promise<OtherManagers> {
  /** By the names of their processes. */
  let seen = new Map<string, Seen>()

  return async (signal) => {
    const leases = await kube
      .list({ kind: 'Lease', namespace, labels: LABELS.manager, content: 'metadata' }, signal)
      .catch((error: unknown) => {
        if (isFault(error, 'cluster-refused')) return []
        throw error
      })
    const now = clock.monotonic()
    const current = new Map<string, Seen>()
    for (const { metadata } of leases) {
      const manager = metadata.labels?.[LABELS.manager]
      if (manager === undefined || manager === instance) continue
      const version = metadata.resourceVersion ?? ''
      const known = seen.get(manager)
      current.set(manager, known?.version === version ? known : { version, since: now, isRenewed: known !== undefined })
    }
    seen = current
    const isSilent = ({ since }: Seen): boolean => now - since >= SILENT_MS
    return {
      silent: [...current].flatMap(([manager, one]) => (isSilent(one) ? [manager] : [])),
      twins: [...current].flatMap(([manager, one]) =>
        one.isRenewed && !isSilent(one) && systemIdOf(manager) === systemIdOf(instance) ? [manager] : [],
      ),
    }
  }
}

/** Which records of another manager this one may continue. */
import { isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { readRecord, type JobRecord } from '../records/job-record.ts'

export interface CandidatesOptions {
  readonly kube: Pick<Kube, 'find'>
  /** Namespace of the records. */
  readonly namespace: string
  /** Whether this manager can continue a job: its runner is in the configuration. */
  readonly accepts: (record: Pick<JobRecord, 'runner'>) => boolean
  readonly clock: Clock
}

export interface Candidates {
  /** Whether this manager may continue the job of a Secret, when the manager of the job is gone. Throws faults of the cluster. */
  has(name: string, signal: AbortSignal): Promise<boolean>
  /** Forgets the Secrets that are not among these. */
  keep(names: ReadonlySet<string>): void
}

/**
 * Time that a manager has from the record of a job to its pod. A manager that cannot renew its Lease may still be creating the pod, and its tries to reach the cluster take
 * about two minutes. Milliseconds.
 */
const CREATION_MS = 180_000

/** What does not change in a record. */
interface Known extends Pick<JobRecord, 'runner' | 'pod' | 'namespace' | 'createdAt'> {
  /** Monotonic time at which it was first seen. */
  readonly seenAt: number
}

function toKnown({ runner, pod, namespace, createdAt }: JobRecord, seenAt: number): Known {
  return { runner, pod, namespace, createdAt, seenAt }
}

/** Reads each record once, because other managers in the namespace may have many. */
export function openCandidates({ kube, namespace, accepts, clock }: CandidatesOptions): Candidates {
  /** By the names of the Secrets. Undefined for one without a record that can be read. */
  const known = new Map<string, Known | undefined>()

  async function read(name: string, signal: AbortSignal): Promise<Known | undefined> {
    if (known.has(name)) return known.get(name)
    const secret = await kube.find({ kind: 'Secret', name, namespace }, signal)
    if (secret === undefined) return undefined
    const record = readRecord(secret['data'])
    const one = record && toKnown(record, clock.monotonic())
    known.set(name, one)
    return one
  }

  /** The clock of the first manager can be wrong, so the wait also ends when the record has been seen for that long. */
  function isYoung({ createdAt, seenAt }: Known): boolean {
    return clock.now() - createdAt < CREATION_MS && clock.monotonic() - seenAt < CREATION_MS
  }

  async function hasPod({ pod: name, ...of }: Known, signal: AbortSignal): Promise<boolean> {
    try {
      return (await kube.find({ kind: 'Pod', name, namespace: of.namespace ?? namespace }, signal)) !== undefined
    } catch (error) {
      // Who may not read the pod finds out nothing by waiting.
      if (isFault(error, 'cluster-refused')) return true
      throw error
    }
  }

  return {
    async has(name, signal) {
      const one = await read(name, signal)
      if (one === undefined || !accepts(one)) return false
      return !isYoung(one) || (await hasPod(one, signal))
    },
    keep(names) {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name)
    },
  }
}

/**
 * One namespace in which pods of jobs run. The manager holds a Lease there. A Lease that has expired tells other managers of the same runner that its jobs have
 * nobody who follows them.
 */
import { aborted, attempt, isAbort, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import { openLeadership, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { LABELS, NOTES, readNotes, readRecord, type JobRecord, type Note } from './job-record.ts'
import { openPodWatch, type PodWatch } from './pod-watch.ts'

/** A job that nobody follows. */
export interface FoundJob {
  readonly record: JobRecord
  readonly notes: readonly Note[]
}

export interface SiteOptions {
  readonly kube: Kube
  readonly namespace: string
  readonly systemId: string
  /** Identifies this process. */
  readonly holder: string
  readonly clock: Clock
  readonly log: Logger
  /** Whether this process follows the job of a Secret. */
  readonly isFollowed: (pod: string) => boolean
  /** Whether this manager can continue a job: its runner is in the configuration. */
  readonly accepts: (record: JobRecord) => boolean
  /** Called for a job of this process that another manager has taken over, after this one could not renew its Lease. */
  readonly onTaken: (pod: string) => void
  /** Continues a job. */
  readonly onFound: (job: FoundJob) => void
}

export interface Site {
  readonly kube: Kube
  readonly namespace: string
  readonly pods: PodWatch
  /** Stops, and gives the Lease back. */
  close(): Promise<void>
}

/** How often jobs of other managers are looked for. Milliseconds. */
const LOOK_MS = 10_000
/** Wait before an account that may not hold a Lease tries it again. Milliseconds. */
const LEASE_AGAIN_MS = 60_000

/** Returns the name of the Lease of a manager. */
function leaseName(systemId: string): string {
  return `gitlab-runner-${systemId.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}`
}

/** Opens the site: begins to hold the Lease, and to look for jobs. */
export function openSite(options: SiteOptions): Site {
  const { kube, namespace, systemId, holder, clock, log, isFollowed, accepts, onTaken, onFound } = options
  const stop = new AbortController()
  const { signal } = stop
  const pods = openPodWatch({ kube, namespace, clock, log, signal })
  const lead = (id: string, work: (term: AbortSignal) => Promise<void>, until: AbortSignal): Promise<void> =>
    openLeadership({ kube, namespace, name: leaseName(id), holder, clock, log }).lead(work, until)
  /** True while this process holds the Lease of its own system ID. Another process with the same ID may follow the jobs otherwise. */
  let isLeading = false
  /** Managers whose Lease is being waited for. */
  const waiting = new Set<string>()

  async function holdOwn(term: AbortSignal): Promise<void> {
    isLeading = true
    try {
      await attempt(log, 'jobs that nobody follows', look)
      await aborted(AbortSignal.any([term, signal]))
      // Only while it is held: another process with the same ID may hold it otherwise.
      if (signal.aborted && !term.aborted) await removeLease(systemId)
    } finally {
      isLeading = false
    }
  }

  const warn = (error: unknown, n: number): void => {
    if (isAbort(error) || n > 0) return
    log.warn({ err: error, namespace }, 'the Lease of this manager cannot be held, so its jobs are not continued by others')
  }

  /** Holds the Lease for as long as the site is open. An account that may not hold it is asked again, because rights can be added. */
  async function keepLease(): Promise<void> {
    for await (const n of ticks(LEASE_AGAIN_MS, { clock, signal }))
      await lead(systemId, holdOwn, signal).catch((error: unknown) => warn(error, n))
  }

  const own = keepLease()

  async function removeLease(id: string): Promise<void> {
    await attempt(log, 'lease', async () => void (await kube.delete({ kind: 'Lease', name: leaseName(id), namespace })))
  }

  async function look(): Promise<void> {
    const secrets = await kube.list({ kind: 'Secret', namespace, labels: LABELS.job, content: 'metadata' })
    for (const { metadata } of secrets) {
      const manager = metadata.labels?.[LABELS.manager]
      if (manager !== undefined && manager !== systemId && isFollowed(metadata.name)) onTaken(metadata.name)
      if (manager === undefined || isFollowed(metadata.name) || waiting.has(manager)) continue
      if (manager !== systemId) void adoptAll(manager)
      else if (isLeading) await adopt(metadata.name)
    }
  }

  /** Waits until the Lease of another manager has expired, and continues all of its jobs. */
  async function adoptAll(manager: string): Promise<void> {
    waiting.add(manager)
    const done = new AbortController()
    const until = AbortSignal.any([signal, done.signal])
    try {
      await lead(
        manager,
        async () => {
          const secrets = await kube.list({
            kind: 'Secret',
            namespace,
            labels: `${LABELS.manager}=${manager}`,
            content: 'metadata',
          })
          for (const { metadata } of secrets) await adopt(metadata.name)
          await removeLease(manager)
          done.abort()
        },
        until,
      )
    } catch (error) {
      if (!isAbort(error))
        log.warn({ err: error, manager, namespace }, 'the jobs of another manager cannot be continued at present')
    } finally {
      waiting.delete(manager)
    }
  }

  async function adopt(name: string): Promise<void> {
    if (isFollowed(name)) return
    const ref: ObjectRef = { kind: 'Secret', name, namespace }
    const secret: KubeObject | undefined = await kube.find(ref, signal)
    const record = readRecord(secret?.['data'])
    if (record === undefined || !accepts(record) || isFollowed(name)) return
    const { resourceVersion, labels, annotations } = secret?.metadata ?? {}
    if (labels?.[LABELS.manager] !== systemId) {
      const metadata = { resourceVersion, labels: { [LABELS.manager]: systemId } }
      try {
        await kube.patch(ref, { metadata }, { signal })
      } catch (error) {
        // Another manager was first, or the job has ended.
        if (isFault(error, 'conflict') || isFault(error, 'not-found')) return
        throw error
      }
    }
    log.info({ job: record.jobId, pod: record.pod }, 'the job of a manager that is gone goes on')
    onFound({ record, notes: readNotes(annotations?.[NOTES]) })
  }

  async function keepLooking(): Promise<void> {
    let hasWarned = false
    for await (const _ of ticks(LOOK_MS, { clock, signal })) {
      try {
        await look()
      } catch (error) {
        if (isAbort(error)) return
        if (!hasWarned || !isFault(error, 'cluster-refused'))
          log.warn({ err: error, namespace }, 'jobs that nobody follows cannot be looked for')
        hasWarned = true
      }
    }
  }

  const looking = keepLooking()
  return {
    kube,
    namespace,
    pods,
    async close() {
      stop.abort(new DOMException('the manager stops', 'AbortError'))
      await Promise.all([own, looking])
    },
  }
}

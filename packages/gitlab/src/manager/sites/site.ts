/**
 * The namespace of a manager: it has the records of its jobs, and the pods of those that ask for no other namespace. The manager holds a Lease there. A Lease that has
 * expired tells other managers of the same runner that its jobs have no manager.
 */
import { aborted, attempt, isAbort, isFault, ticks, type Clock, type Logger } from '@windlass/kit'
import { openLeadership, type Kube, type KubeObject, type ObjectRef } from '@windlass/kube'
import { LABELS, NOTES, readNotes, readRecord, type JobRecord, type Note } from '../records/job-record.ts'
import { openCandidates } from './candidates.ts'
import { otherManagers } from './other-managers.ts'
import { openPodWatches, type OpenPods } from '../pods/pod-watches.ts'
import { systemIdOf } from './instance-name.ts'

/** A job that nobody follows. */
export interface FoundJob {
  readonly record: JobRecord
  readonly notes: readonly Note[]
}

export interface SiteOptions {
  readonly kube: Kube
  readonly namespace: string
  /** Name of this process: see `instanceName`. */
  readonly instance: string
  /** Name of this machine. */
  readonly host: string
  readonly clock: Clock
  readonly log: Logger
  /** Whether this process follows the job of a Secret. */
  readonly isFollowed: (pod: string) => boolean
  /** Whether this manager can continue a job: its runner is in the configuration. */
  readonly accepts: (record: Pick<JobRecord, 'runner'>) => boolean
  /** Called for a job of this process that another manager has taken over, after this one could not renew its Lease. */
  readonly onTaken: (pod: string) => void
  /** Continues a job. */
  readonly onFound: (job: FoundJob) => void
}

export interface Site {
  readonly kube: Kube
  readonly namespace: string
  /** Opens the pods of a namespace of the cluster. */
  podsIn(namespace: string): OpenPods
  /** Stops, and gives the Lease back. */
  close(): Promise<void>
}

/** How often jobs and Leases of other managers are looked for. Milliseconds. */
const LOOK_MS = 10_000
/** Wait before an account that may not hold a Lease tries it again. Milliseconds. */
const LEASE_AGAIN_MS = 60_000

/** Returns the name of the Lease of a manager. */
function leaseName(manager: string): string {
  return `gitlab-runner-${manager.toLowerCase().replaceAll(/[^a-z0-9]/g, '-')}`
}

/** Opens the site: begins to hold the Lease, and to look for jobs. */
export function openSite(options: SiteOptions): Site {
  const { kube, namespace, instance, host, clock, log, isFollowed, accepts, onTaken, onFound } = options
  const stop = new AbortController()
  const { signal } = stop
  const podsIn = openPodWatches({ kube, clock, log, signal })
  // The site keeps the watch of its own namespace, in which most jobs run.
  podsIn(namespace)
  const findManagers = otherManagers({ kube, namespace, instance, clock })
  const candidates = openCandidates({ kube, namespace, accepts, clock })
  const holder = `${host}/${instance}`
  const lead = (id: string, work: (term: AbortSignal) => Promise<void>, until: AbortSignal): Promise<void> =>
    openLeadership({ kube, namespace, name: leaseName(id), labels: { [LABELS.manager]: id }, holder, clock, log }).lead(
      work,
      until,
    )
  /** True while this process holds its own Lease. Another process may follow its jobs otherwise. */
  let isLeading = false
  /** True while this account may not hold a Lease. */
  let isRefused = false
  let hasWarnedOfTwin = false
  /** Managers whose Lease is being waited for. */
  const waiting = new Set<string>()

  async function holdOwn(term: AbortSignal): Promise<void> {
    isLeading = true
    isRefused = false
    try {
      await attempt(log, 'jobs without a manager', look)
      await aborted(AbortSignal.any([term, signal]))
      // Only while it is held: another process may hold it otherwise.
      if (signal.aborted && !term.aborted) await removeLease(instance)
    } finally {
      isLeading = false
    }
  }

  const warn = (error: unknown, n: number): void => {
    if (isAbort(error) || n > 0) return
    log.warn(
      { err: error, namespace },
      'cannot hold the Lease of this manager, so other managers do not continue its jobs; check the cluster and the rights on leases',
    )
  }

  /** Holds the Lease for as long as the site is open. An account that may not hold it is asked again, because rights can be added. */
  async function keepLease(): Promise<void> {
    for await (const n of ticks(LEASE_AGAIN_MS, { clock, signal }))
      await lead(instance, holdOwn, signal).catch((error: unknown) => {
        isRefused = isFault(error, 'cluster-refused')
        warn(error, n)
      })
  }

  const own = keepLease()

  async function removeLease(id: string): Promise<void> {
    await attempt(log, 'lease', async () => void (await kube.delete({ kind: 'Lease', name: leaseName(id), namespace })))
  }

  async function look(): Promise<void> {
    const secrets = await kube.list({ kind: 'Secret', namespace, labels: LABELS.job, content: 'metadata' })
    candidates.keep(new Set(secrets.map(({ metadata }) => metadata.name)))
    const others = new Map<string, string[]>()
    for (const { metadata } of secrets) {
      const manager = metadata.labels?.[LABELS.manager]
      if (manager !== undefined && manager !== instance && isFollowed(metadata.name)) onTaken(metadata.name)
      if (manager === undefined || isFollowed(metadata.name) || waiting.has(manager)) continue
      if (manager !== instance) others.set(manager, [...(others.get(manager) ?? []), metadata.name])
      // Without the right to Leases, the name in the Secret tells alone who follows the job.
      else if (isLeading || isRefused) await adopt(metadata.name, instance)
    }
    for (const [manager, names] of others) void adoptAll(manager, names)
    const { silent, twins } = await findManagers(signal)
    // Their Leases are removed, also without jobs.
    for (const manager of silent) if (!waiting.has(manager)) void adoptAll(manager)
    if (twins.length > 0) warnOfTwin()
  }

  /** A manager that replaces one that drains has a twin for a while. */
  function warnOfTwin(): void {
    if (hasWarnedOfTwin) return
    hasWarnedOfTwin = true
    log.warn(
      { systemId: systemIdOf(instance), namespace },
      'another process has the same system ID, so GitLab and Windlass show both as one manager; give each process its own configuration file, unless one of them drains',
    )
  }

  /**
   * Waits until the Lease of another manager has expired, continues all of its jobs, and removes the Lease. Does nothing if names of Secrets are given and this manager may
   * continue none of their jobs: it would create the Lease and remove it, again and again.
   */
  async function adoptAll(manager: string, names?: readonly string[]): Promise<void> {
    waiting.add(manager)
    const done = new AbortController()
    const until = AbortSignal.any([signal, done.signal])
    try {
      if (names !== undefined && !(await hasCandidate(names))) return
      await lead(
        manager,
        async () => {
          const secrets = await kube.list({
            kind: 'Secret',
            namespace,
            labels: `${LABELS.manager}=${manager}`,
            content: 'metadata',
          })
          for (const { metadata } of secrets) await adopt(metadata.name, manager)
          await removeLease(manager)
          done.abort()
        },
        until,
      )
    } catch (error) {
      if (!isAbort(error))
        log.warn({ err: error, manager, namespace }, 'cannot continue the jobs of another manager; trying again')
    } finally {
      waiting.delete(manager)
    }
  }

  async function hasCandidate(names: readonly string[]): Promise<boolean> {
    for (const name of names) if (await candidates.has(name, signal)) return true
    return false
  }

  /** Continues the job of a Secret, unless it has another manager than this one by now. */
  async function adopt(name: string, manager: string): Promise<void> {
    if (isFollowed(name) || (manager !== instance && !(await candidates.has(name, signal)))) return
    const ref: ObjectRef = { kind: 'Secret', name, namespace }
    const secret: KubeObject | undefined = await kube.find(ref, signal)
    const record = readRecord(secret?.['data'])
    if (record === undefined || !accepts(record) || isFollowed(name)) return
    const { resourceVersion, labels, annotations } = secret?.metadata ?? {}
    if (labels?.[LABELS.manager] !== manager) return
    if (manager !== instance) {
      const metadata = { resourceVersion, labels: { [LABELS.manager]: instance } }
      try {
        await kube.patch(ref, { metadata }, { signal })
      } catch (error) {
        // Another manager was first, or the job has ended.
        if (isFault(error, 'conflict') || isFault(error, 'not-found')) return
        throw error
      }
    }
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
          log.warn(
            { err: error, namespace },
            'cannot list the Secrets of jobs, so jobs of other managers are not continued; check the cluster and the rights on secrets',
          )
        hasWarned = true
      }
    }
  }

  const looking = keepLooking()
  return {
    kube,
    namespace,
    podsIn,
    async close() {
      stop.abort(new DOMException('the manager stops', 'AbortError'))
      await Promise.all([own, looking])
    },
  }
}

/** Runs the jobs that the coordinator gives to this manager, and those that it takes over from another one. */
import { randomBytes } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { attempt, isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { signedAddresses } from '../cache/signed-addresses.ts'
import type { FailureReason } from '../coordinator/failure-reasons.ts'
import type { ReceivedJob } from '../feed/feed.ts'
import { timeoutOf } from '../job/variables.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { LATE_S } from '../pod/render.ts'
import { registryLogins } from '../pod/registry-logins.ts'
import { openTraceSender } from '../trace/trace-sender.ts'
import type { Entry } from './entry.ts'
import { followJob, type Followed } from './follow-job.ts'
import { createObjects, removeObjects, type JobObjects } from './job-objects.ts'
import { planJob, type JobPlan } from './job-plan.ts'
import type { JobRecord } from './job-record.ts'
import type { JobViews } from './job-view.ts'
import type { Place, Places } from './places.ts'
import type { FoundJob, Site } from './site.ts'
import { failureLine, openTraceWriter } from './trace-writer.ts'

export interface JobRunnerOptions {
  readonly systemId: string
  readonly managerName: string
  readonly version: string
  readonly revision: string
  readonly helperImage: string
  /** Environment of the manager, for credentials of the store of caches. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly spoolFolder: string
  readonly clock: Clock
  readonly log: Logger
  readonly places: Places
  readonly views: JobViews
  /** Aborted to end all jobs as interrupted. */
  readonly interrupted: AbortSignal
  /** Aborted to leave all jobs as they are. */
  readonly signal: AbortSignal
  /** Returns the site of the jobs of an entry, in a namespace; undefined: the namespace of the entry. */
  readonly siteOf: (entry: Entry, namespace?: string) => Promise<Site>
}

export interface JobRunner {
  /** Runs a job to its end. Never rejects for what happens to the job. */
  run(entry: Entry, received: ReceivedJob): Promise<void>
  /** Continues a job. */
  resume(entry: Entry, site: Site, found: FoundJob): Promise<void>
  /** Whether the job of a pod is followed. */
  isFollowed(pod: string): boolean
  /** Leaves the job of a pod to another manager. */
  leave(pod: string): void
}

/** Default of `poll_timeout`. Seconds. */
const POLL_TIMEOUT_S = 180

export function openJobRunner(options: JobRunnerOptions): JobRunner {
  const { clock, log, places, views, interrupted, signal } = options
  /** By their pods: aborted to leave a job to another manager. */
  const followed = new Map<string, AbortController>()

  /** Follows the job of a pod while `work` runs. Begins at once, so that nobody follows it twice. */
  async function following<T>(pod: string, work: (left: AbortSignal) => Promise<T>): Promise<T> {
    const left = new AbortController()
    followed.set(pod, left)
    try {
      return await work(AbortSignal.any([signal, left.signal]))
    } finally {
      followed.delete(pod)
    }
  }

  async function run(entry: Entry, { job, correlationId }: ReceivedJob): Promise<void> {
    const { runnerKey } = entry
    const projectId = job.job_info.project_id
    const place = places.take(runnerKey, projectId)
    const view = viewOf(entry, { id: job.id, name: job.job_info.name, project: job.job_info.project_full_path })
    try {
      view('preparing', 'Creating the pod')
      const site = await options.siteOf(entry)
      const plan = await planned(entry, { job, correlationId, place, namespace: site.namespace })
      await following(plan.pod, (left) => start({ entry, plan, job, view, left }))
    } catch (error) {
      if (isAbort(error)) return
      await refuse(entry, job, error)
    } finally {
      places.free(runnerKey, projectId, place)
      views.remove(job.id)
    }
  }

  async function planned(
    entry: Entry,
    {
      job,
      correlationId,
      place,
      namespace,
    }: Pick<ReceivedJob, 'job' | 'correlationId'> & { readonly place: Place; readonly namespace: string },
  ): Promise<JobPlan> {
    const { systemId, managerName, version, revision, helperImage } = options
    const { runner, runnerKey, tls } = entry
    const given = {
      job,
      correlationId,
      runner,
      runnerKey,
      systemId,
      managerName,
      version,
      revision,
      helperImage,
      namespace,
      place,
      unique: randomBytes(4).toString('hex'),
      tls: tls?.files() ?? {},
      now: clock.now(),
    }
    const keys = new Set<string>()
    const plan = planJob({ ...given, cacheUrls: (key) => void keys.add(key) })
    if (keys.size === 0) return plan
    const urls = await signedAddresses([...keys], {
      runner,
      projectId: job.job_info.project_id,
      seconds: timeoutOf(job) + LATE_S,
      env: options.env,
      clock,
      signal,
    })
    return urls === undefined ? plan : planJob({ ...given, cacheUrls: (key) => urls.get(key) })
  }

  async function start({
    entry,
    plan,
    job,
    view,
    left,
  }: {
    readonly entry: Entry
    readonly plan: JobPlan
    readonly job: ReceivedJob['job']
    readonly view: SetView
    readonly left: AbortSignal
  }): Promise<void> {
    const { coordinator } = entry
    const { record, namespace } = plan
    const site = await options.siteOf(entry, namespace)
    const { kube } = site
    try {
      const authConfig = job.variables.find(({ key }) => key === 'DOCKER_AUTH_CONFIG')?.value
      const logins = registryLogins(job, authConfig)
      // The record first: a job that the coordinator knows to run must not be lost with this manager.
      const objects = await createObjects({ kube, plan, systemId: options.systemId, logins, clock, signal })
      const taken = await coordinator.updateJob({ jobId: job.id, jobToken: job.token, state: 'running', signal })
      if (taken.type === 'abort') {
        log.info({ job: job.id, reason: taken.reason }, 'the coordinator does not want the job any more')
        await removed(site, record, true)
        return
      }
      await objects.createPod(0)
      const result = await follow({ entry, site, record, notes: [], nextPod: nextPodOf(plan, objects), view, left })
      await conclude(site, record, result)
    } catch (error) {
      if (isAbort(error)) throw error
      // The record goes last: without it nobody would report a job that this process cannot.
      await refuse(entry, job, error)
      await removed(site, record, true)
    }
  }

  function nextPodOf({ pullTries }: JobPlan, objects: JobObjects): () => Promise<boolean> {
    let pullTry = 0
    return async () => {
      pullTry += 1
      if (pullTry >= pullTries) return false
      await objects.createPod(pullTry)
      return true
    }
  }

  async function resume(entry: Entry, site: Site, { record, notes }: FoundJob): Promise<void> {
    const { projectId, concurrentId, concurrentProjectId, pod } = record
    const place = { concurrentId, concurrentProjectId }
    places.occupy(entry.runnerKey, projectId, place)
    const view = viewOf(entry, { id: record.jobId, name: '', project: '' })
    try {
      await following(pod, async (left) => {
        const result = await follow({ entry, site, record, notes, nextPod: undefined, view, left })
        await conclude(site, record, result)
      })
    } finally {
      places.free(entry.runnerKey, projectId, place)
      views.remove(record.jobId)
    }
  }

  function follow({
    entry,
    site,
    record,
    notes,
    nextPod,
    view,
    left,
  }: FoundJob & {
    readonly entry: Entry
    readonly site: Site
    readonly nextPod: (() => Promise<boolean>) | undefined
    readonly view: SetView
    readonly left: AbortSignal
  }): Promise<Followed> {
    const { runner, coordinator } = entry
    const { kube, namespace, pods } = site
    return followJob({
      record,
      notes,
      namespace,
      kube,
      coordinator,
      pods,
      spoolFolder: options.spoolFolder,
      finalRetryLimit: runner.job_status_final_update_retry_limit,
      startMs: (runner.kubernetes?.poll_timeout ?? POLL_TIMEOUT_S) * 1_000,
      nextPod,
      onState: (state, why) => view(state, why, { pod: record.pod, namespace }),
      interrupted,
      signal: left,
      clock,
      log,
    })
  }

  /** Removes the pod of a job that has ended. A job that another manager follows keeps it. */
  async function conclude(site: Site, record: JobRecord, result: Followed): Promise<void> {
    if (result.type === 'left') return
    const { end, delivery } = result
    log.info({ job: record.jobId, state: end?.state, delivery: delivery.type }, 'the job has ended')
    const lastAt = record.createdAt + (record.timeoutS + LATE_S) * 1_000
    // The record stays for another try, which `Site` begins, as long as the pod can have the log.
    if (delivery.type === 'given-up' && clock.now() < lastAt) return
    await removed(site, record, end === undefined)
  }

  async function removed({ kube, namespace }: Site, { pod: name, jobId }: JobRecord, atOnce: boolean): Promise<void> {
    await attempt(log.child({ job: jobId }), 'remove the pod of a job', () =>
      removeObjects({ kube, name, namespace, atOnce, clock, signal }),
    )
  }

  /** Fails a job that has no pod, with the reason in its trace. */
  async function refuse({ coordinator, runner }: Entry, job: ReceivedJob['job'], error: unknown): Promise<void> {
    const { reason, text } = refusal(error)
    log.warn({ err: error, job: job.id }, 'the job cannot run')
    if (!canSpool(options.spoolFolder)) {
      await coordinator.updateJob({ jobId: job.id, jobToken: job.token, state: 'failed', failureReason: reason, signal })
      return
    }
    const sender = openTraceSender({
      coordinator,
      jobId: job.id,
      jobToken: job.token,
      folder: options.spoolFolder,
      supportedReasons: job.features.failure_reasons,
      clock,
      log,
      onCanceling: () => undefined,
      onAbort: () => undefined,
    })
    const at = clock.now() * 1_000
    const writer = openTraceWriter(
      {
        intro: [
          {
            at,
            text: `Running with windlass ${options.version} (${options.revision})\n  on ${runner.name ?? ''}, system ID: ${options.systemId}\n`,
          },
        ],
        hasSections: false,
        trace: {
          masked: job.variables.flatMap(({ masked, value }) => (masked === true ? [value] : [])),
          tokenPrefixes: [...job.features.token_mask_prefixes],
          masksAllTokens: true,
          hasTimes: true,
          limit: Number.MAX_SAFE_INTEGER,
        },
      },
      (bytes) => sender.append(bytes),
    )
    writer.end({ at, text: failureLine(text) })
    await sender.finish({ state: 'failed', failureReason: reason })
  }

  type SetView = (
    state: 'preparing' | 'waiting' | 'running' | 'ending',
    why: string,
    place?: { readonly pod: string; readonly namespace: string },
  ) => void

  function viewOf({ runner }: Entry, named: { readonly id: number; readonly name: string; readonly project: string }): SetView {
    let known = { pod: '', namespace: '' }
    return (state, why, place) => {
      known = place ?? known
      views.set({ ...named, ...known, runner: runner.name ?? '', state, why })
    }
  }

  return { run, resume, isFollowed: (pod) => followed.has(pod), leave: (pod) => followed.get(pod)?.abort() }
}

/** Whether the folder takes a file, which the trace of a job needs. */
function canSpool(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function refusal(error: unknown): { readonly reason: FailureReason; readonly text: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ConfigurationError) return { reason: 'runner_configuration_error', text: `: ${message}` }
  const reason = isFault(error, 'config-invalid') ? 'runner_configuration_error' : 'runner_system_failure'
  return { reason, text: ` (system failure): prepare environment: ${message}` }
}

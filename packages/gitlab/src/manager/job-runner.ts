/** Runs the jobs that the coordinator gives to this manager, and those that it takes over from another one. */
import { isAbort } from '@windlass/kit'
import type { ReceivedJob } from '../feed/feed.ts'
import type { JobProgram } from '../helper/program.ts'
import { lifeOf } from '../pod/render.ts'
import { registryLogins } from '../pod/registry-logins.ts'
import type { Session } from '../session/session.ts'
import { apiRetry } from './sites/api-retry.ts'
import type { Entry } from './entry.ts'
import { followJob, type Followed } from './follow-job.ts'
import { createObjects, removeObjects, type JobObjects } from './plan/job-objects.ts'
import type { JobPlan } from './plan/job-plan.ts'
import type { JobRecord } from './records/job-record.ts'
import { CANCELED, outcomeOf } from './views/job-outcome.ts'
import type { JobOutcome, JobViews } from './views/job-view.ts'
import type { Places } from './plan/places.ts'
import { openPodStarts } from './pods/pod-starts.ts'
import { openPodTerminal } from './pods/pod-terminal.ts'
import { preparePlan, type PrepareOptions } from './plan/prepare-plan.ts'
import { refuseJob } from './refuse-job.ts'
import { openRemovals } from './removals.ts'
import { factsOf, masksOf, openShownJob, recordedFacts, recordedMasks, type ShownJob } from './views/shown-job.ts'
import type { FoundJob, Site } from './sites/site.ts'

export interface JobRunnerOptions extends PrepareOptions {
  /** Name of this process: see `instanceName`. */
  readonly instance: string
  readonly spoolFolder: string
  readonly places: Places
  readonly views: JobViews
  /** Aborted to end all jobs as interrupted. */
  readonly interrupted: AbortSignal
  /** Aborted to leave all jobs as they are. */
  readonly signal: AbortSignal
  /** Returns the site of the jobs of an entry. */
  readonly siteOf: (entry: Entry) => Promise<Site>
}

export interface JobRunner {
  /** Runs a job to its end, and ends its session. Never rejects for what happens to the job. */
  run(entry: Entry, received: ReceivedJob, session?: Session): Promise<void>
  /** Continues a job. */
  resume(entry: Entry, site: Site, found: FoundJob): Promise<void>
  /** Shows a job that will run when another one has ended. */
  queue(entry: Entry, received: ReceivedJob): void
  /** Whether the job of a pod is followed, or its objects are about to be removed. */
  isFollowed(pod: string): boolean
  /** Whether the job of a pod has ended, and only its objects are left. */
  isOver(pod: string): boolean
  /** Leaves the job of a pod to another manager. */
  leave(pod: string): void
  /** Resolves when the objects of all ended jobs are removed. */
  tidied(): Promise<void>
}

interface RunningJob {
  readonly entry: Entry
  readonly site: Site
  readonly record: JobRecord
}

/** Longest time in which the stores of secrets and caches have to answer. Milliseconds. */
const PREPARE_MS = 5 * 60_000
/** Defaults of `poll_timeout` and `poll_interval`. Seconds. */
const POLL_TIMEOUT_S = 180
const POLL_INTERVAL_S = 3

export function openJobRunner(options: JobRunnerOptions): JobRunner {
  const { clock, log, places, views, interrupted, signal } = options
  /** By their pods: aborted to leave a job to another manager. */
  const followed = new Map<string, AbortController>()
  /** Pods of jobs that have ended and whose objects could not be removed. */
  const over = new Set<string>()
  const starts = openPodStarts(clock)
  const removals = openRemovals({ starts, hurry: interrupted, signal })

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

  async function run(entry: Entry, { job, correlationId }: ReceivedJob, session?: Session): Promise<void> {
    const { runnerKey } = entry
    const projectId = job.job_info.project_id
    const place = places.take(runnerKey, projectId)
    const shown = shownJob(entry, job)
    let outcome: JobOutcome | undefined
    try {
      shown.set('preparing', 'Creating the pod')
      const site = await options.siteOf(entry)
      // Before there is a record, a job that is interrupted has nobody else who could fail it.
      const until = AbortSignal.any([signal, interrupted, AbortSignal.timeout(PREPARE_MS)])
      const { plan, program } = await preparePlan(
        { ...options, signal: until },
        { entry, job, correlationId, place, namespace: site.namespace, terminalS: session?.timeoutS },
      )
      shown.mask(recordedMasks(plan.record))
      outcome = await following(plan.pod, (left) => start({ entry, site, plan, program, job, shown, session, left }))
    } catch (error) {
      if (isAbort(error) && signal.aborted) return
      outcome = await refuseJob({ ...options, entry, job, error })
    } finally {
      session?.close()
      places.free(runnerKey, projectId, place)
      shown.end(outcome)
    }
  }

  function shownJob({ runner }: Entry, job: ReceivedJob['job']): ShownJob {
    return openShownJob({ views, facts: factsOf(job, runner), runner: runner.name ?? '', masks: masksOf(job) })
  }

  async function start({
    entry,
    site,
    plan,
    program,
    job,
    shown,
    session,
    left,
  }: {
    readonly entry: Entry
    readonly site: Site
    readonly plan: JobPlan
    readonly program: JobProgram
    readonly job: ReceivedJob['job']
    readonly shown: ShownJob
    readonly session: Session | undefined
    readonly left: AbortSignal
  }): Promise<JobOutcome | undefined> {
    const { coordinator } = entry
    const { record } = plan
    const { kube, namespace: home } = site
    try {
      const authConfig = job.variables.find(({ key }) => key === 'DOCKER_AUTH_CONFIG')?.value
      const logins = registryLogins(job, authConfig)
      // The record first: a job that the coordinator knows to run must not be lost with this manager.
      const again = apiRetry({ section: entry.runner.kubernetes ?? {}, clock, signal: left })
      const own = { instance: options.instance, home, clock, signal: left }
      const objects = await createObjects({ ...own, kube, plan, program, logins, again })
      const taken = await coordinator.updateJob({ jobId: job.id, jobToken: job.token, state: 'running', signal: left })
      if (taken.type === 'abort') {
        log.info({ job: job.id, reason: taken.reason }, 'GitLab does not want the job any more')
        await removed({ entry, site, record, atOnce: true })
        return CANCELED
      }
      // The calls so far may have taken so long that another manager has ended the job, or will.
      const owner = await objects.owner()
      if (owner !== 'this') {
        log.warn({ job: job.id, pod: record.pod }, 'another manager has taken the job over before it had a pod')
        // What was created after the other one had removed everything.
        if (owner === 'none') await removed({ entry, site, record, atOnce: true })
        return undefined
      }
      await objects.createPod(0)
      const nextPod = nextPodOf(plan, objects)
      const result = await follow({ entry, site, record, notes: [], nextPod, shown, session, left })
      return await conclude({ entry, site, record }, result)
    } catch (error) {
      // Another manager ends it.
      if (left.aborted && !signal.aborted) return undefined
      if (isAbort(error)) throw error
      // The record goes last: without it nobody would report a job that this process cannot.
      const outcome = await refuseJob({ ...options, entry, job, error })
      await removed({ entry, site, record, atOnce: true })
      return outcome
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
    // GitLab has its end.
    if (over.has(pod)) return following(pod, () => removed({ entry, site, record, atOnce: true }))
    log.info({ job: record.jobId, pod }, 'continues the job, which no manager follows')
    const place = { concurrentId, concurrentProjectId }
    places.occupy(entry.runnerKey, projectId, place)
    const { runner } = entry
    const shown = openShownJob({
      views,
      facts: recordedFacts(record, runner),
      runner: runner.name ?? '',
      masks: recordedMasks(record),
      receivedAt: record.createdAt,
    })
    let outcome: JobOutcome | undefined
    try {
      outcome = await following(pod, async (left) => {
        const result = await follow({ entry, site, record, notes, nextPod: undefined, shown, session: undefined, left })
        return conclude({ entry, site, record }, result)
      })
    } finally {
      places.free(entry.runnerKey, projectId, place)
      shown.end(outcome)
    }
  }

  async function follow({
    entry,
    site,
    record,
    notes,
    nextPod,
    shown,
    session,
    left,
  }: FoundJob & {
    readonly entry: Entry
    readonly site: Site
    readonly nextPod: (() => Promise<boolean>) | undefined
    readonly shown: ShownJob
    readonly session: Session | undefined
    readonly left: AbortSignal
  }): Promise<Followed> {
    const { runner, coordinator } = entry
    const { kube, namespace: home } = site
    const namespace = record.namespace ?? home
    const { pods, close } = site.podsIn(namespace)
    try {
      return await followJob({
        record,
        notes,
        home,
        kube,
        coordinator,
        pods,
        starts,
        spoolFolder: options.spoolFolder,
        finalRetryLimit: runner.job_status_final_update_retry_limit,
        startMs: secondsOr(runner.kubernetes?.poll_timeout, POLL_TIMEOUT_S) * 1_000,
        pollMs: secondsOr(runner.kubernetes?.poll_interval, POLL_INTERVAL_S) * 1_000,
        nextPod,
        onState: (state, why) => shown.set(state, why, { pod: record.pod, namespace }),
        onRunning(pod, over) {
          const terminal = openPodTerminal({ kube, pod, jobId: record.jobId, clock, log, over })
          if (session !== undefined) session.attach(record.jobId, terminal)
          // GitLab reached the terminal at the manager that has ended. Its job must not wait for it.
          else if (record.terminalS !== undefined) void terminal.release()
        },
        interrupted,
        signal: left,
        clock,
        log,
      })
    } finally {
      close()
    }
  }

  /** Removes the pod of a job that has ended, now or soon, and returns its outcome. A job that another manager follows keeps its pod, and has none. */
  async function conclude(job: RunningJob, result: Followed): Promise<JobOutcome | undefined> {
    if (result.type === 'left') return undefined
    const { record } = job
    const { end, delivery, failure, hasRun } = result
    log.info({ job: record.jobId, state: end?.state, delivery: delivery.type }, 'the job has ended')
    const lastAt = record.createdAt + lifeOf(record) * 1_000
    // The record stays for another try, which `Site` begins, as long as the pod can have the log.
    if (delivery.type === 'given-up' && clock.now() < lastAt) return undefined
    // What still runs in a pod takes processor time until the pod is removed.
    if (!hasRun || record.hasServices) await removed({ ...job, atOnce: end === undefined })
    else removals.add(record.pod, () => removed({ ...job, atOnce: false }))
    if (end === undefined) return CANCELED
    // GitLab has no end of the job, or another one.
    if (delivery.type === 'given-up' || (delivery.type === 'aborted' && end.state === 'success')) return undefined
    return outcomeOf(end, failure)
  }

  async function removed({ entry, site, record, atOnce }: RunningJob & { readonly atOnce: boolean }): Promise<void> {
    const { kube, namespace: home } = site
    const section = entry.runner.kubernetes ?? {}
    const warn = (error: unknown, then: string): void =>
      log.warn({ err: error, job: record.jobId, pod: record.pod }, `cannot remove all objects of a job that has ended; ${then}`)
    try {
      const refused = await removeObjects({ kube, record, home, section, atOnce, clock, signal })
      over.delete(record.pod)
      if (refused !== undefined) warn(refused, 'its pod ends by its deadline. Check the rights in the namespace of the pod')
    } catch (error) {
      if (isAbort(error)) return
      over.add(record.pod)
      warn(error, 'trying again. Check the cluster, and the rights on pods and secrets')
    }
  }

  function queue(entry: Entry, { job }: ReceivedJob): void {
    shownJob(entry, job).set('waiting', 'Waiting until another job of this manager ends')
  }

  return {
    run,
    resume,
    queue,
    isFollowed: (pod) => followed.has(pod) || removals.has(pod),
    isOver: (pod) => over.has(pod),
    leave(pod) {
      followed.get(pod)?.abort()
      removals.leave(pod)
    },
    tidied: () => removals.settled(),
  }
}

/** Returns the value of a configuration, or the default for a value that is not positive. */
function secondsOr(value: number | undefined, usual: number): number {
  return value !== undefined && value > 0 ? value : usual
}

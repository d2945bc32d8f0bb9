/** The request for a job: a long poll that the server may hold. */
import { defined, type Clock, type Logger } from '@windlass/kit'
import { z } from 'zod'
import { Job } from '../job/payload.ts'
import { single, type Calls } from './calls.ts'
import type { RunnerInfo } from './info.ts'
import type { UpdateJob } from './job-update.ts'

export interface JobRequest {
  readonly systemId: string
  /** `lastUpdate` of the previous answer for the same token. With it the server holds the request until something changes. */
  readonly lastUpdate?: string | undefined
  /** Default: that of the client. */
  readonly info?: RunnerInfo
  /** Where GitLab opens the terminal of the job. Default: the job has none. */
  readonly session?: SessionOffer | undefined
  readonly signal?: AbortSignal | undefined
}

/** The session of a job, as the API of GitLab has it. */
export interface SessionOffer {
  readonly url: string
  /** PEM. GitLab trusts it for this address. */
  readonly certificate: string
  /** Value of the header `Authorization`. */
  readonly authorization: string
}

export interface JobRequestResult {
  /**
   * `forbidden`: the token is wrong or the runner was removed. `maintenance`: the server is in maintenance mode. `failed`: no answer, or another error.
   */
  readonly outcome: 'job' | 'none' | 'forbidden' | 'maintenance' | 'failed'
  readonly job?: Job
  /** The job as the coordinator sent it. */
  readonly payload?: unknown
  readonly lastUpdate?: string
  /** True if the server asked to retry: it is busy, and gets fewer requests at the same time. */
  readonly pushedBack: boolean
  readonly correlationId?: string
}

/** Time limit of a request, which the server holds for 50 s by default. Milliseconds. */
const TIMEOUT_MS = 3 * 60_000
const MAX_JOB_BYTES = 16 * 1024 * 1024
/** Problems of a job that the log names. */
const MAX_PROBLEMS = 20

/** The part of a job that is needed to fail it. */
const JobHead = z.object({ id: z.int(), token: z.string() })

export function jobRequest(options: {
  readonly call: Calls
  readonly token: string
  readonly info: RunnerInfo
  readonly log: Logger
  readonly clock: Clock
  readonly updateJob: UpdateJob
}): (request: JobRequest) => Promise<JobRequestResult> {
  const { call, token, log } = options
  return async ({ systemId, lastUpdate, info = options.info, session, signal }) => {
    const answer = await call({
      method: 'POST',
      path: 'jobs/request',
      headers: { 'RUNNER-TOKEN': token },
      body: { info, token, system_id: systemId, last_update: lastUpdate ?? '', ...defined({ session }) },
      expected: [201, 204],
      signal,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_JOB_BYTES,
    })
    const { correlationId, isPushedBack: pushedBack } = answer
    const update = single(answer.headers['x-gitlab-last-update'])
    const common = { pushedBack, correlationId, ...(update !== undefined && { lastUpdate: update }) }
    // A proxy refuses for a server that is away. That says nothing about the token.
    if (answer.status === 403 && answer.json === undefined) return { outcome: 'failed', ...common }
    const outcome = outcomes[answer.status]
    if (outcome !== undefined) return { outcome, ...common }
    if (answer.status !== 201) return { outcome: 'failed', ...common }
    const job = Job.safeParse(answer.json)
    if (job.success) return { outcome: 'job', job: job.data, payload: answer.json, ...common }
    const fields = {
      problems: job.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => `${path.join('.')}: ${message}`),
      correlation_id: correlationId,
    }
    log.error(fields, 'GitLab sent a job that cannot be parsed; update Windlass')
    // In the background: the next request must not wait for it.
    void failUnreadable(answer.json, options, signal).catch(() => undefined)
    return { outcome: 'failed', ...common }
  }
}

const outcomes: Readonly<Record<number, JobRequestResult['outcome']>> = { 204: 'none', 403: 'forbidden', 503: 'maintenance' }

/** Number of tries to fail a job that cannot be read, and the wait after the first one, which doubles. Milliseconds. */
const FAIL_TRIES = 8
const FAIL_WAIT_MS = 1_000

/** Fails a job that cannot be read, because the server has already given it to this runner. Rejects if the signal is aborted. */
async function failUnreadable(
  json: unknown,
  { updateJob, clock }: { readonly updateJob: UpdateJob; readonly clock: Clock },
  signal: AbortSignal | undefined,
): Promise<void> {
  const head = JobHead.safeParse(json)
  if (!head.success) return
  const { id: jobId, token: jobToken } = head.data
  const output = { checksum: 0, bytes: 0 }
  for (let n = 0; n < FAIL_TRIES; n += 1) {
    const { type } = await updateJob({
      jobId,
      jobToken,
      state: 'failed',
      failureReason: 'runner_system_failure',
      output,
      signal,
    })
    if (type !== 'failed' && type !== 'pending') return
    await clock.sleep(FAIL_WAIT_MS * 2 ** n, signal)
  }
}

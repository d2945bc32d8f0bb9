/** The end of a job that gets no pod. */
import { accessSync, constants } from 'node:fs'
import { isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { FailureReason } from '../coordinator/failure-reasons.ts'
import type { Job } from '../job/payload.ts'
import { ConfigurationError } from '../pod/configuration-error.ts'
import { maskText } from '../trace/mask-text.ts'
import { openTraceSender } from '../trace/trace-sender.ts'
import type { Entry } from './entry.ts'
import { managerLines } from './records/first-record.ts'
import type { JobOutcome } from './views/job-view.ts'
import { masksOf } from './views/shown-job.ts'
import { failureLine, failureMessage, openTraceWriter } from './trace-writer.ts'

export interface RefuseOptions {
  readonly entry: Pick<Entry, 'coordinator' | 'runner'>
  readonly job: Job
  readonly error: unknown
  readonly systemId: string
  readonly version: string
  readonly revision: string
  readonly spoolFolder: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Fails the job, with the reason in its trace. Returns its outcome. */
export async function refuseJob({
  entry,
  job,
  error,
  spoolFolder,
  signal,
  clock,
  log,
  ...shown
}: RefuseOptions): Promise<JobOutcome> {
  const { coordinator, runner } = entry
  const { reason, text } = refusal(error)
  const outcome: JobOutcome = { state: 'failed', reason, message: failureMessage(text) }
  const masks = masksOf(job)
  // The message of a wrong configuration has values of the job, and says all.
  const cause = error instanceof ConfigurationError ? { why: maskText(text, masks) } : { err: error }
  log.warn({ ...cause, job: job.id }, 'the job cannot run')
  if (!canSpool(spoolFolder)) {
    await coordinator.updateJob({ jobId: job.id, jobToken: job.token, state: 'failed', failureReason: reason, signal })
    return outcome
  }
  const sender = openTraceSender({
    coordinator,
    jobId: job.id,
    jobToken: job.token,
    folder: spoolFolder,
    supportedReasons: job.features.failure_reasons,
    clock,
    log,
    onCanceling: () => undefined,
    onAbort: () => undefined,
  })
  const at = clock.now() * 1_000
  const writer = openTraceWriter(
    {
      intro: managerLines({ runner, ...shown }).map((line) => ({ at, text: line })),
      hasSections: false,
      trace: {
        masked: [...masks.masked],
        tokenPrefixes: [...masks.tokenPrefixes],
        masksAllTokens: true,
        hasTimes: true,
        limit: Number.MAX_SAFE_INTEGER,
      },
    },
    (bytes) => sender.append(bytes),
  )
  writer.end({ at, text: failureLine(text) })
  await sender.finish({ state: 'failed', failureReason: reason })
  return outcome
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
  if (isAbort(error)) return { reason: 'runner_interrupted', text: ': aborted: terminated' }
  if (isTimeout(error))
    return {
      reason: 'runner_external_dependency_failure',
      text: ': the stores of its secrets and caches took too long to answer',
    }
  if (error instanceof ConfigurationError) return { reason: 'runner_configuration_error', text: `: ${message}` }
  // A store of secrets or caches that does not answer.
  if (isFault(error, 'storage-unreachable')) return { reason: 'runner_external_dependency_failure', text: `: ${message}` }
  const reason = isFault(error, 'config-invalid') ? 'runner_configuration_error' : 'runner_system_failure'
  return { reason, text: ` (system failure): prepare environment: ${message}` }
}

/** True for the reason of a signal whose time is over. */
function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'TimeoutError'
}

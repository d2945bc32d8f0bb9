/** Jobs of an agent that belong to no build. Each can be repeated, so nothing is kept: the server hands a job out again until it is reported. */
import { endsWork, isAbort, isRefusal, retry, type Clock, type Fault, type Logger } from '@windlass/kit'
import type { AgentCalls } from '@windlass/client/agent'
import type { AgentJob, JobReport, JobResult } from '@windlass/protocol'
import { failureMessage } from '../failure-message.ts'

export interface JobOptions {
  /** Carries out a job. */
  readonly run: (job: AgentJob, signal: AbortSignal) => Promise<JobResult>
  readonly server: Pick<AgentCalls, 'reportJob'>
  readonly epoch: () => number
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** Called when the answer to a report is fatal for this agent. */
  readonly onFenced: (error: Fault) => void
}

export interface Jobs {
  /** Starts a job. Does nothing if it is in progress. */
  accept(job: AgentJob): void
}

/** Longest time of a job. Milliseconds; the server hands a job out again after two minutes. */
const JOB_MS = 90_000

/** Opens the table of jobs in progress. */
export function openJobs(options: JobOptions): Jobs {
  const { server, clock, log } = options
  const running = new Set<string>()

  async function carryOut(job: AgentJob): Promise<void> {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(JOB_MS)])
    const outcome = await options.run(job, signal).then(
      (result) => ({ result }),
      (error: unknown) => {
        log.warn({ err: error, jobId: job.id, kind: job.kind }, 'job failed')
        return {
          message: (signal.aborted ? `The job took longer than ${JOB_MS / 1000} s.` : failureMessage(error)).slice(0, 2000),
        }
      },
    )
    if (options.signal.aborted) return
    const body: JobReport = { epoch: options.epoch(), jobId: job.id, revision: job.revision, ...outcome }
    const retryIf = (error: unknown): boolean => !isAbort(error) && !endsWork('agent', error) && !isRefusal(error)
    await retry({ clock, signal: options.signal, baseMs: 200, maxMs: 10_000, tries: 8, retryIf }, () =>
      server.reportJob(body, { signal: options.signal }),
    )
  }

  return {
    accept(job) {
      if (running.has(job.id)) return
      running.add(job.id)
      carryOut(job)
        .catch((error: unknown) => {
          if (endsWork('agent', error)) options.onFenced(error)
          else if (!isAbort(error)) log.warn({ err: error, jobId: job.id }, 'job not reported')
        })
        .finally(() => running.delete(job.id))
    },
  }
}

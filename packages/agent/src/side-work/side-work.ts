/** What an agent does that belongs to no build: it reports disks, and carries out jobs. */
import { defined, type Clock, type Fault, type Logger } from '@windlass/kit'
import type { AgentCalls } from '@windlass/client/agent'
import { CONTEXT_CHECKS_FEATURE, DISKS_FEATURE, JOBS_FEATURE, type AgentJob, type JobResult } from '@windlass/protocol'
import { runChecks, type CheckedAgent } from './checks.ts'
import { openDiskReports } from './disk-reports.ts'
import type { Executor } from '../executor.ts'
import { openJobs } from './jobs.ts'

export interface SideWorkOptions {
  readonly executor: Executor
  readonly server: AgentCalls
  readonly epoch: () => number
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  readonly checked: CheckedAgent
  readonly disksMs?: number | undefined
  /** PEM file with additional certificate authorities, for checks of contexts. */
  readonly caFile?: string | undefined
  readonly onFenced: (error: Fault) => void
}

export interface SideWork {
  /** Features for the hello. */
  readonly features: readonly string[]
  /** Notes the features of the server. Called after each hello. */
  welcome(features: readonly string[]): void
  /** Starts a job. */
  accept(job: AgentJob): void
  /** Reports disks until the signal is aborted. Never throws. */
  run(): Promise<void>
}

/** Opens the side work of an agent with its executor. */
export function openSideWork(options: SideWorkOptions): SideWork {
  const { executor, server, epoch, clock, log, signal } = options
  const { disks } = executor
  let serverFeatures: readonly string[] = []
  const isWanted = (): boolean => serverFeatures.includes(DISKS_FEATURE)
  const everyMs = options.disksMs
  const reports = disks && openDiskReports({ disks, server, epoch, isWanted, clock, log, ...defined({ everyMs }) })

  async function run(job: AgentJob, until: AbortSignal): Promise<JobResult> {
    const { kind } = job
    if (kind === 'check-agent') return { kind, findings: await runChecks(executor, job, options.checked, until) }
    if (kind === 'check-context') {
      // Loaded on demand, because few agents ever check a context.
      const { checkContext } = await import('../context-checks/check-context.ts')
      return { kind, result: await checkContext(job, { executor, clock, caFile: options.caFile }, until) }
    }
    if (disks === undefined) return { kind, outcome: 'gone', message: 'This agent keeps no disks.' }
    const removed = await disks.remove(job, until)
    reports?.reportSoon()
    return { kind, ...removed }
  }

  const jobs = openJobs({ run, server, epoch, clock, log, signal, onFenced: options.onFenced })
  return {
    features: [JOBS_FEATURE, CONTEXT_CHECKS_FEATURE, ...(disks === undefined ? [] : [DISKS_FEATURE])],
    welcome(features) {
      serverFeatures = features
    },
    accept: (job) => jobs.accept(job),
    run: async () => reports?.run(signal),
  }
}

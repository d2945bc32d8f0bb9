/** Jobs of agents: what is handed out, and what becomes of a report. */
import { backoffMs } from '@windlass/kit'
import type { AgentJob, JobReport } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { describeContextCheck, failContextCheck, takeContextCheck } from '../contexts/check-context.ts'
import { noteFailedRemoval, takeRemoval } from '../disks/remove-disk.ts'
import { jobTopic, lockJob, updateJob } from '../store/runtimes/agent-jobs.ts'
import { taskTopic } from '../store/runtimes/tasks.ts'
import type { AgentJobRow, AgentRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { requireEpoch } from './require-epoch.ts'
import { describeCheck, storeChecks } from './checks.ts'

/** Failures after which a check is given up. The removal of a disk is repeated until it succeeds. */
const MAX_CHECK_FAILURES = 2
const BACKOFF = { baseMs: 5_000, maxMs: 10 * 60_000 }

const RemovalPayload = z.object({ name: z.string(), uid: z.string(), runtime: z.string() })

/** Returns a job in the form for agents. Ends a job that is void by now, and returns undefined. */
export async function toAgentJob(app: App, agent: AgentRow, row: AgentJobRow): Promise<AgentJob | undefined> {
  const common = { id: row.id, revision: row.revision }
  if (row.kind === 'check-agent') return { ...common, kind: row.kind, ...(await describeCheck(app, agent)) }
  if (row.kind === 'check-context') {
    const check = await describeContextCheck(app, agent, row)
    return check && { ...common, kind: row.kind, ...check }
  }
  return { ...common, kind: row.kind, ...RemovalPayload.parse(JSON.parse(row.payload)) }
}

/** Applies a report on a job. Reports for older revisions and repeated reports change nothing. */
export async function takeJobReport(app: App, agentId: string, report: JobReport): Promise<void> {
  await requireEpoch(app, agentId, report.epoch)
  await app.store.write(async (tx) => {
    const job = await lockJob(tx, report.jobId)
    if (job?.agent_id !== agentId || job.status !== 'leased' || job.revision !== report.revision) return
    const now = app.clock.now()
    const { result } = report
    if (result?.kind === 'remove-disk' && job.kind === 'remove-disk') await takeRemoval(tx, job, { result, now })
    else if (result?.kind === 'check-agent' && job.kind === 'check-agent')
      await storeChecks(tx, {
        accountId: app.accountId,
        agentId,
        source: 'agent',
        by: job.requested_by,
        findings: result.findings,
        now,
      })
    else if (result?.kind === 'check-context' && job.kind === 'check-context')
      await takeContextCheck(tx, job, { result: result.result, now })
    else return retryLater(tx, { job, message: report.message ?? 'The agent sent no result.', now })
    await updateJob(tx, job.id, { status: 'done', done_at: now, leased_until: null })
    tx.wake(jobTopic(job.id))
  })
}

interface Failed {
  readonly job: AgentJobRow
  readonly message: string
  readonly now: number
}

async function retryLater(tx: Tx, { job, message, now }: Failed): Promise<void> {
  const failures = job.failures + 1
  if (job.kind === 'remove-disk') await noteFailedRemoval(tx, job, message)
  const isOver = job.kind !== 'remove-disk' && failures >= MAX_CHECK_FAILURES
  if (isOver && job.kind === 'check-context') await failContextCheck(tx, job.id, message)
  await updateJob(tx, job.id, {
    failures,
    message,
    leased_until: null,
    ...(isOver ? { status: 'failed', done_at: now } : { status: 'queued', available_at: now + backoffMs(BACKOFF, failures) }),
  })
  tx.wake(jobTopic(job.id))
  tx.wake(taskTopic(job.agent_id))
}

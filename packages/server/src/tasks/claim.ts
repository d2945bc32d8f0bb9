/** Claiming of tasks by agents: a held poll that is woken by new tasks. */
import { attempt, defined } from '@windlass/kit'
import { JOBS_FEATURE, type AgentJob, type ClaimRequest, type StartTask, type Task } from '@windlass/protocol'
import type { App } from '../app.ts'
import { toAgentJob } from '../agents/jobs.ts'
import { hasFeature } from '../agents/features.ts'
import { readAgent, requireEpoch } from '../agents/require-epoch.ts'
import { claimJobs, nextJobAt } from '../store/runtimes/agent-jobs.ts'
import { findAttempt } from '../store/builds/attempts.ts'
import type { AgentRow } from '../store/schema/schema.ts'
import { claimTasks, nextTaskAt, taskTopic, type TaskRecord } from '../store/runtimes/tasks.ts'
import { findPair } from '../store/runtimes/warm-pairs.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { engineUrlOf } from './engine-url.ts'
import { readStartPayload, readStopPayload } from './payload.ts'
import { bootstrapOf, renderPair, renderTask } from './render.ts'

export interface Claimed {
  readonly tasks: Task[]
  readonly jobs?: AgentJob[]
}

/**
 * Returns tasks and jobs for an agent. If there are none, waits up to `waitMs` for one. Each is leased and handed out again with a higher revision if the
 * lease expires. Throws `agent-fenced` if another process has taken over the identity.
 */
export async function claim(app: App, agentId: string, request: ClaimRequest, signal: AbortSignal): Promise<Claimed> {
  // A held call does not show that the agent is alive, so it must call again well within its lease.
  const until = app.clock.monotonic() + Math.min(request.waitMs, app.timings.agentLeaseMs / 4)
  using watch = app.store.watch(taskTopic(agentId))
  const agent = await requireEpoch(app, agentId, request.epoch)
  const takesJobs = hasFeature(agent, JOBS_FEATURE) && request.room > 0
  for (;;) {
    const dueMs = await nextDue(app, agentId)
    const tasks = request.room > 0 && dueMs <= 0 ? await claimNow(app, agentId, request.room) : []
    const { jobs, jobDueMs } = takesJobs ? await claimJobsBeside(app, agent, tasks) : { jobs: [], jobDueMs: Infinity }
    const rest = until - app.clock.monotonic()
    if (tasks.length + jobs.length > 0 || rest <= 0 || signal.aborted) return { tasks, ...(jobs.length > 0 && { jobs }) }
    await watch.next(Math.min(rest, app.store.pollMs, Math.max(5, dueMs), Math.max(5, jobDueMs)), signal)
    await readAgent(app, agentId, request.epoch)
  }
}

interface ClaimedJobs {
  readonly jobs: AgentJob[]
  /** Time until the next job is due. Milliseconds. */
  readonly jobDueMs: number
}

/** Claims jobs. Tasks that are claimed already must reach the agent, so jobs that cannot be claimed then wait for its next call. */
async function claimJobsBeside(app: App, agent: AgentRow, tasks: readonly Task[]): Promise<ClaimedJobs> {
  try {
    const now = app.clock.now()
    const jobDueMs = ((await nextJobAt(app.store.query, agent.id, now)) ?? Infinity) - now
    return { jobs: jobDueMs <= 0 ? await claimJobsNow(app, agent) : [], jobDueMs }
  } catch (error) {
    if (tasks.length === 0) throw error
    app.log.warn({ err: error, agent: agent.name }, 'cannot claim jobs')
    return { jobs: [], jobDueMs: Infinity }
  }
}

/** A job that cannot be read is handed out again after its lease, and does not keep the others. */
async function claimJobsNow(app: App, agent: AgentRow): Promise<AgentJob[]> {
  const rows = await app.store.write((tx) => claimJobs(tx, agent.id, app.clock.now()))
  const jobs = await Promise.all(
    rows.map(async (row) => attempt(app.log, `job ${row.id} of agent ${agent.name}`, () => toAgentJob(app, agent, row))),
  )
  return jobs.filter((job) => job !== undefined)
}

/** Returns the time until the next queued task or expired lease is due. Zero or negative if one is due now. Milliseconds. */
async function nextDue(app: App, agentId: string): Promise<number> {
  const dueAt = await nextTaskAt(app.store.query, agentId)
  return dueAt === undefined ? Infinity : dueAt - app.clock.now()
}

async function claimNow(app: App, agentId: string, room: number): Promise<Task[]> {
  const now = app.clock.now()
  const rows = await app.store.write((tx) => claimTasks(tx, { agentId, room, now, leaseMs: app.timings.taskLeaseMs }))
  for (const { available_at: at } of rows) app.metrics.taskWait.observe(Math.max(0, now - at) / 1000)
  const tasks = await Promise.all(rows.map((row) => toTask(app, row)))
  return tasks.filter((task) => task !== undefined)
}

/** Returns undefined if the subject of the task no longer exists. */
async function toTask(app: App, row: TaskRecord): Promise<Task | undefined> {
  const { kind, id, attempt: number } = row.subject
  const common = {
    id: row.id,
    revision: row.revision,
    buildId: id,
    attempt: number,
    runtime: row.runtime,
    leaseMs: app.timings.taskLeaseMs,
  }
  const attempt = kind === 'attempt' ? await findAttempt(app.store.query, id, number) : undefined
  if (row.kind === 'stop-attempt') {
    // The objects of a warm pair are named by the pair's id, also while it serves an attempt.
    const pairId = attempt?.pair_id ?? undefined
    const of = pairId === undefined ? {} : { buildId: pairId, attempt: PAIR_ATTEMPT }
    return { ...common, ...of, kind: 'stop-attempt', ...readStopPayload(row) }
  }
  if (kind === 'warm-pair') return startOfPair(app, row, common)
  if (attempt === undefined) return undefined
  const engine = { bootstrap: bootstrapOf(app, attempt), serverUrl: await engineUrlOf(app, app.store.query, row) }
  return { ...common, ...startsOf(row), kind: 'start-attempt', engine, ...(await renderTask(app, row, attempt)) }
}

function startsOf(row: TaskRecord): Pick<StartTask, 'starts'> {
  return defined({ starts: readStartPayload(row).spec.starts })
}

type Common = Omit<StartTask, 'kind' | 'engine' | 'objects' | 'disk' | 'warm' | 'starts'>

/** Returns undefined if the pair is no longer wanted. */
async function startOfPair(app: App, row: TaskRecord, common: Common): Promise<Task | undefined> {
  const pair = await findPair(app.store.query, row.subject.id)
  if (pair?.status !== 'starting') return undefined
  const { bootstrap, ...rendered } = await renderPair(app, row, pair)
  const engine = { bootstrap, serverUrl: await engineUrlOf(app, app.store.query, row) }
  return { ...common, ...startsOf(row), kind: 'start-attempt', engine, ...rendered, warm: true }
}

/** Handing tasks to agents: a held poll that is woken when there is one. */
import { fault } from '@windlass/kit'
import type { ClaimRequest, Task } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findAgentById, updateAgent } from '../store/agents.ts'
import { findAttempt } from '../store/attempts.ts'
import type { AgentRow, TaskRow } from '../store/schema.ts'
import { claimTasks, nextTaskAt, taskTopic } from '../store/tasks.ts'
import { findPair } from '../store/warm-pairs.ts'
import { PAIR_ATTEMPT } from '../warm/pairs.ts'
import { readStopPayload } from './payload.ts'
import { bootstrapOf, renderPair, renderTask } from './render.ts'

/** How often an agent's sign of life is written down. Milliseconds. */
export const NOTE_EVERY_MS = 5000

/**
 * The tasks for an agent: at once when there are some, else when one comes or `waitMs` is over (then none). Each is leased and comes again
 * with a higher revision when the lease runs out. Throws `agent-fenced` when another process took over the identity.
 */
export async function claim(app: App, agentId: string, request: ClaimRequest, signal: AbortSignal): Promise<Task[]> {
  const until = app.clock.monotonic() + request.waitMs
  using watch = app.store.watch(taskTopic(agentId))
  for (;;) {
    await requireEpoch(app, agentId, request.epoch)
    const dueMs = await nextDue(app, agentId)
    const tasks = request.room > 0 && dueMs <= 0 ? await claimNow(app, agentId, request.room) : []
    const rest = until - app.clock.monotonic()
    if (tasks.length > 0 || rest <= 0 || signal.aborted) return tasks
    const ownPace = Math.min(app.store.pollMs, app.timings.agentLeaseMs / 4)
    await watch.next(Math.min(rest, ownPace, Math.max(5, dueMs)), signal)
  }
}

/** The agent, noted as alive. Throws `agent-fenced` for an epoch that is not the current one. */
export async function requireEpoch(app: App, agentId: string, epoch: number): Promise<AgentRow> {
  const agent = await findAgentById(app.store.query, agentId)
  if (agent === undefined) throw fault('unauthenticated', { message: 'This agent was deleted.' })
  if (agent.epoch !== epoch) throw fault('agent-fenced')
  const now = app.clock.now()
  if (agent.last_seen_at === null || now - agent.last_seen_at >= Math.min(NOTE_EVERY_MS, app.timings.agentLeaseMs / 4)) {
    await app.store.write((tx) => updateAgent(tx, agentId, { last_seen_at: now }))
  }
  return agent
}

/** Time until a waiting or delayed task, or a lapsed lease, is due; not positive when one is. Milliseconds. */
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

/** Undefined when what the task is about is no longer there. */
async function toTask(app: App, row: TaskRow): Promise<Task | undefined> {
  const common = {
    id: row.id,
    revision: row.revision,
    buildId: row.build_id,
    attempt: row.attempt,
    runtime: row.runtime,
    leaseMs: app.timings.taskLeaseMs,
  }
  const attempt = await findAttempt(app.store.query, row.build_id, row.attempt)
  if (row.kind === 'stop-attempt') {
    // What a warm pair was made of carries the pair's id.
    const pairId = attempt?.pair_id ?? undefined
    const of = pairId === undefined ? {} : { buildId: pairId, attempt: PAIR_ATTEMPT }
    return { ...common, ...of, kind: 'stop-attempt', ...readStopPayload(row) }
  }
  if (attempt === undefined) return startOfPair(app, row, common)
  const engine = { bootstrap: bootstrapOf(app, attempt), serverUrl: app.advertisedUrl() }
  return { ...common, kind: 'start-attempt', engine, ...(await renderTask(app, row, attempt)) }
}

type Common = Omit<Extract<Task, { kind: 'start-attempt' }>, 'kind' | 'engine' | 'objects' | 'disk'>

/** Undefined when the pair is no longer wanted. */
async function startOfPair(app: App, row: TaskRow, common: Common): Promise<Task | undefined> {
  const pair = await findPair(app.store.query, row.build_id)
  if (pair?.status !== 'starting') return undefined
  const { bootstrap, ...rendered } = renderPair(app, row, pair)
  return { ...common, kind: 'start-attempt', engine: { bootstrap, serverUrl: app.advertisedUrl() }, ...rendered }
}

/**
 * Agent protocol 1: what an agent that polls gets. Each task of ours becomes one task per object: claim and pods to create, pods and claim to
 * delete. Not here: what becomes of them (`polled-reports.ts`), the objects themselves (`manifests`).
 */
import { newId } from '@windlass/kit'
import { DOCKER_PORT, type AttemptNames } from '@windlass/manifests'
import type { KubeObject, PolledTask } from '@windlass/protocol'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/edit.ts'
import { findAgentById, updateAgent } from '../store/agents.ts'
import { findAttempt, updateAttempt } from '../store/attempts.ts'
import { commandTopic } from '../store/commands.ts'
import { handOutObjectTasks, insertObjectTasks, listObjectTasks, nextObjectTaskAt } from '../store/object-tasks.ts'
import type { AgentRow, ObjectTaskRow, TaskRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { claimTasks, findStartTask, findTask, nextTaskAt, taskTopic, updateTask } from '../store/tasks.ts'
import { NOTE_EVERY_MS } from './claim.ts'
import { readStopPayload } from './payload.ts'
import { noteUnreported, takeStatus } from './polled-reports.ts'
import { namesOf, renderTask } from './render.ts'

/** Most objects in one answer: what fifty builds that start need. */
const ROOM = 200
/** A task of ours is worked on by its objects; an agent of protocol 2 that takes over ends this at once. Milliseconds. */
const TASK_LEASE_MS = 600_000
/** How many leases of protocol 2 an object may take: agents queue up to a thousand builds. */
const OBJECT_LEASES = 4
/** An engine that is done leaves by itself; its pods get this long before they are deleted. Milliseconds. */
const MAX_GRACE_MS = 3000

export interface Poll {
  /** False for old agents, which tell nothing: what they were given counts as done. */
  readonly reports: boolean
  readonly version?: string | undefined
  /** How long to hold the call while there is nothing to do. Milliseconds. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** The tasks for an agent of protocol 1: at once when there are some, else when one comes or `waitMs` is over. */
export async function pollTasks(app: App, agent: Pick<AgentRow, 'id'>, poll: Poll): Promise<PolledTask[]> {
  const until = app.clock.monotonic() + poll.waitMs
  using watch = app.store.watch(taskTopic(agent.id))
  for (;;) {
    await noteAlive(app, agent.id, { version: poll.version })
    const now = app.clock.now()
    const dueAt = Math.min(
      ...(await Promise.all([nextTaskAt(app.store.query, agent.id), nextObjectTaskAt(app.store.query, agent.id)])).map(
        (at) => at ?? Infinity,
      ),
    )
    const tasks = dueAt <= now ? await take(app, agent.id, poll.reports) : []
    const rest = until - app.clock.monotonic()
    if (tasks.length > 0 || rest <= 0 || poll.signal.aborted) return tasks
    await watch.next(Math.min(rest, app.store.pollMs, Math.max(5, dueAt - now)), poll.signal)
  }
}

/** Notes that an agent of protocol 1 lives, and what it says of itself. */
export async function noteAlive(
  app: App,
  agentId: string,
  said: { version?: string | undefined; message?: string } = {},
): Promise<void> {
  const agent = await findAgentById(app.store.query, agentId)
  if (agent === undefined) return
  const now = app.clock.now()
  const isNew = agent.protocol !== 1
  const changes = {
    protocol: 1 as const,
    executor: 'kubernetes',
    ...(said.version !== undefined && { version: said.version }),
    ...(said.message !== undefined && { message: said.message }),
  }
  const isSame =
    !isNew &&
    Object.entries(changes).every(([key, value]) => Object.entries(agent).some(([at, is]) => at === key && is === value))
  if (isSame && agent.last_seen_at !== null && now - agent.last_seen_at < Math.min(NOTE_EVERY_MS, app.timings.agentLeaseMs / 4))
    return
  await app.store.write(async (tx) => {
    await updateAgent(tx, agentId, { ...changes, last_seen_at: now })
    if (isNew || agent.last_seen_at === null || now - agent.last_seen_at > app.timings.agentLeaseMs) tx.wake(ELECT_TOPIC)
  })
}

async function take(app: App, agentId: string, reports: boolean): Promise<PolledTask[]> {
  const now = app.clock.now()
  const rows = await app.store.write(async (tx) => {
    for (const task of await claimTasks(tx, { agentId, room: ROOM, now, leaseMs: TASK_LEASE_MS })) await divide(app, tx, task)
    return handOutObjectTasks(tx, { agentId, room: ROOM, now, leaseMs: app.timings.taskLeaseMs * OBJECT_LEASES })
  })
  for (const { available_at: at, handed } of rows) if (handed === 0) app.metrics.taskWait.observe(Math.max(0, now - at) / 1000)
  const rendering = openRendering(app)
  const tasks = await Promise.all(rows.map(async (row) => toPolled(row, { reports, manifest: await rendering(row) })))
  for (const row of rows) {
    if (row.handed > 0) await noteUnreported(app, row)
    if (!reports)
      await takeStatus(app, agentId, row.id, { status: 'Success', statusRevision: row.revision + 1, isRetriable: false })
  }
  return tasks.filter((task) => task !== undefined)
}

/** Makes the tasks of single objects, unless they are there. */
async function divide(app: App, tx: Tx, task: TaskRow): Promise<void> {
  if ((await listObjectTasks(tx.query, task.id)).length > 0) return
  const start = task.kind === 'start-attempt' ? task : await findStartTask(tx.query, task.build_id, task.attempt)
  if (start === undefined) return updateTask(tx, task.id, { status: 'withdrawn', done_at: app.clock.now() })
  const names = namesOf(app, start)
  if (task.kind === 'start-attempt') {
    await noteProtocol(tx, task, names)
    return insertObjectTasks(tx, objectTasks(task, names, { kinds: CREATIONS, availableAt: app.clock.now() }))
  }
  const availableAt = app.clock.now() + Math.min(readStopPayload(task).graceMs, MAX_GRACE_MS)
  await insertObjectTasks(tx, objectTasks(task, names, { kinds: DELETIONS, availableAt }))
}

const CREATIONS = [
  ['CreatePvc', 'claim'],
  ['CreatePod', 'dind'],
  ['CreatePod', 'engine'],
] as const
const DELETIONS = [
  ['DeletePod', 'engine'],
  ['DeletePod', 'dind'],
  ['DeletePvc', 'claim'],
] as const

interface Division {
  readonly kinds: typeof CREATIONS | typeof DELETIONS
  readonly availableAt: number
}

function objectTasks(task: TaskRow, names: AttemptNames, { kinds, availableAt }: Division): ObjectTaskRow[] {
  return kinds.map(([kind, object], position) => ({
    id: newId(availableAt),
    account_id: task.account_id,
    task_id: task.id,
    agent_id: task.agent_id,
    build_id: task.build_id,
    attempt: task.attempt,
    runtime: task.runtime,
    kind,
    namespace: names.namespace,
    name: names[object],
    position,
    status: 'queued',
    revision: 0,
    failures: 0,
    handed: 0,
    available_at: availableAt,
    leased_until: null,
    settles_at: null,
    created_at: task.created_at,
    done_at: null,
  }))
}

/** Such agents see no addresses: the daemon is reached by the name that the headless service `dind` of its namespace gives it. */
async function noteProtocol(tx: Tx, { build_id: buildId, attempt: number }: TaskRow, names: AttemptNames): Promise<void> {
  const dockerHost = `tcp://${names.dind}.dind.${names.namespace}.svc:${DOCKER_PORT}`
  await updateAttempt(tx, { build_id: buildId, number }, { protocol: 1, docker_host: dockerHost })
  tx.wake(commandTopic(buildId))
}

/** The manifest of what an object task creates; each attempt is rendered once. */
function openRendering(app: App): (row: ObjectTaskRow) => Promise<KubeObject | undefined> {
  const known = new Map<string, Promise<readonly KubeObject[]>>()
  return async (row) => {
    if (row.kind !== 'CreatePvc' && row.kind !== 'CreatePod') return undefined
    const objects = known.get(row.task_id) ?? render(app, row)
    known.set(row.task_id, objects)
    return (await objects).find(({ kind, metadata }) => kind === KIND[row.kind] && metadata.name === row.name)
  }
}

const KIND: Readonly<Record<ObjectTaskRow['kind'], string>> = {
  CreatePvc: 'PersistentVolumeClaim',
  DeletePvc: 'PersistentVolumeClaim',
  CreatePod: 'Pod',
  DeletePod: 'Pod',
}

async function render(app: App, row: ObjectTaskRow): Promise<readonly KubeObject[]> {
  const task = await findTask(app.store.query, row.task_id)
  const attempt = await findAttempt(app.store.query, row.build_id, row.attempt)
  return task === undefined || attempt === undefined ? [] : (await renderTask(app, task, attempt)).objects
}

/** Undefined when what it is about is no longer there. */
function toPolled(
  row: ObjectTaskRow,
  { reports, manifest }: { reports: boolean; manifest: KubeObject | undefined },
): PolledTask | undefined {
  const common = {
    _id: row.id,
    metadata: {
      createdAt: new Date(row.created_at).toISOString(),
      reName: row.runtime,
      workflowId: row.build_id,
      currentStatusRevision: row.revision,
      shouldReportStatus: reports,
    },
  }
  if (row.kind === 'DeletePod' || row.kind === 'DeletePvc')
    return { ...common, type: row.kind, spec: { Name: row.name, Namespace: row.namespace } }
  return manifest && { ...common, type: row.kind, spec: manifest }
}

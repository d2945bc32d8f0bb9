/**
 * Agent protocol v1: the tasks that a polling agent gets. Each task of the server becomes one task per object: create the claim and the pods, or delete
 * the pods and the claim. Reports are handled by `protocol-v1-reports.ts`, and the objects are rendered by `manifests`.
 */
import { defined, newId } from '@windlass/kit'
import { DOCKER_PORT, type AttemptNames } from '@windlass/manifests'
import type { KubeObject, ProtocolV1Task } from '@windlass/protocol'
import type { App } from '../app.ts'
import { ELECT_TOPIC } from '../builds/lifecycle/edit.ts'
import { calledAt, findAgentById, updateAgent } from '../store/runtimes/agents.ts'
import { findAttempt, updateAttempt } from '../store/builds/attempts.ts'
import { commandTopic } from '../store/builds/commands.ts'
import { handOutObjectTasks, insertObjectTasks, listObjectTasks, nextObjectTaskAt } from '../store/runtimes/object-tasks.ts'
import type { AgentRow, ObjectTaskRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import {
  claimTasks,
  findStartTask,
  findTask,
  nextTaskAt,
  taskTopic,
  updateTask,
  type TaskRecord,
} from '../store/runtimes/tasks.ts'
import { UPDATE_EVERY_MS } from '../agents/require-epoch.ts'
import { readStopPayload } from './payload.ts'
import { noteUnreported, takeStatus } from './protocol-v1-reports.ts'
import { namesOf, renderTask } from './render.ts'

/** Maximum number of objects in one response: enough to start fifty builds. */
const MAX_OBJECTS = 200
/** Lease of a task while its object tasks are carried out. An agent of protocol v2 that takes over ends it at once. Milliseconds. */
const TASK_LEASE_MS = 600_000
/** Lease of an object task, as a multiple of the protocol v2 task lease, because agents queue up to a thousand builds. */
const OBJECT_LEASES = 4
/** Maximum time for a finished engine to exit before its pods are deleted. Milliseconds. */
const MAX_GRACE_MS = 3000

export interface Poll {
  /** False for old agents that send no reports. Tasks that they received count as done. */
  readonly reports: boolean
  readonly version?: string | undefined
  /** Base URL that the agent called. */
  readonly serverUrl?: string | undefined
  /** How long to hold the call while there are no tasks. Milliseconds. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Returns tasks for an agent of protocol v1. If there are none, waits up to `waitMs` for one. */
export async function pollTasks(app: App, agent: Pick<AgentRow, 'id'>, poll: Poll): Promise<ProtocolV1Task[]> {
  const until = app.clock.monotonic() + poll.waitMs
  using watch = app.store.watch(taskTopic(agent.id))
  for (;;) {
    await noteAlive(app, agent.id, { version: poll.version, serverUrl: poll.serverUrl })
    const now = app.clock.now()
    const dueAt = Math.min(
      ...(await Promise.all([nextTaskAt(app.store.query, agent.id), nextObjectTaskAt(app.store.query, agent.id)])).map(
        (at) => at ?? Infinity,
      ),
    )
    const tasks = dueAt <= now ? await claimObjects(app, agent.id, poll.reports) : []
    const rest = until - app.clock.monotonic()
    if (tasks.length > 0 || rest <= 0 || poll.signal.aborted) return tasks
    await watch.next(Math.min(rest, app.store.pollMs, Math.max(5, dueAt - now)), poll.signal)
  }
}

/** Updates when an agent of protocol v1 was last seen and what it reported about itself. */
export async function noteAlive(
  app: App,
  agentId: string,
  reported: { version?: string | undefined; serverUrl?: string | undefined; message?: string } = {},
): Promise<void> {
  const agent = await findAgentById(app.store.query, agentId)
  if (agent === undefined) return
  const now = app.clock.now()
  const isNew = agent.protocol !== 1
  const changes = {
    protocol: 1 as const,
    executor: 'kubernetes',
    ...defined({ version: reported.version, message: reported.message, server_url: reported.serverUrl }),
  }
  const isSame =
    !isNew &&
    Object.entries(changes).every(([key, value]) => Object.entries(agent).some(([at, is]) => at === key && is === value))
  if (isSame && agent.last_seen_at !== null && now - agent.last_seen_at < Math.min(UPDATE_EVERY_MS, app.timings.agentLeaseMs / 4))
    return
  await app.store.write(async (tx) => {
    await updateAgent(tx, agentId, { ...changes, ...calledAt(agent, now, app.timings) })
    if (isNew || agent.last_seen_at === null || now - agent.last_seen_at > app.timings.agentLeaseMs) tx.wake(ELECT_TOPIC)
  })
}

async function claimObjects(app: App, agentId: string, reports: boolean): Promise<ProtocolV1Task[]> {
  const now = app.clock.now()
  const rows = await app.store.write(async (tx) => {
    for (const task of await claimTasks(tx, { agentId, room: MAX_OBJECTS, now, leaseMs: TASK_LEASE_MS }))
      await createObjectTasks(app, tx, task)
    return handOutObjectTasks(tx, { agentId, room: MAX_OBJECTS, now, leaseMs: app.timings.taskLeaseMs * OBJECT_LEASES })
  })
  for (const { available_at: at, handed } of rows) if (handed === 0) app.metrics.taskWait.observe(Math.max(0, now - at) / 1000)
  const rendering = openRendering(app)
  const tasks = await Promise.all(rows.map(async (row) => toProtocolV1(row, { reports, manifest: await rendering(row) })))
  for (const row of rows) {
    if (row.handed > 0) await noteUnreported(app, row)
    if (!reports)
      await takeStatus(app, agentId, row.id, { status: 'Success', statusRevision: row.revision + 1, isRetriable: false })
  }
  return tasks.filter((task) => task !== undefined)
}

/** Creates the object tasks of a task unless they exist. */
async function createObjectTasks(app: App, tx: Tx, task: TaskRecord): Promise<void> {
  if ((await listObjectTasks(tx.query, task.id)).length > 0) return
  const start = task.kind === 'start-attempt' ? task : await findStartTask(tx.query, task.subject)
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

interface ObjectTaskOptions {
  readonly kinds: typeof CREATIONS | typeof DELETIONS
  readonly availableAt: number
}

function objectTasks(task: TaskRecord, names: AttemptNames, { kinds, availableAt }: ObjectTaskOptions): ObjectTaskRow[] {
  return kinds.map(([kind, object], position) => ({
    id: newId(availableAt),
    account_id: task.account_id,
    task_id: task.id,
    agent_id: task.agent_id,
    build_id: task.subject.id,
    attempt: task.subject.attempt,
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

/** Sets protocol v1 and the daemon address. These agents report no addresses, so the daemon is reached by its name in the headless service `dind`. */
async function noteProtocol(
  tx: Tx,
  { subject: { id: buildId, attempt: number } }: TaskRecord,
  names: AttemptNames,
): Promise<void> {
  const dockerHost = `tcp://${names.dind}.dind.${names.namespace}.svc:${DOCKER_PORT}`
  await updateAttempt(tx, { build_id: buildId, number }, { protocol: 1, docker_host: dockerHost })
  tx.wake(commandTopic(buildId))
}

/** Returns a function that looks up the manifest of an object task. Each task is rendered once. */
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

/** Returns undefined if the object to create is no longer known. */
function toProtocolV1(
  row: ObjectTaskRow,
  { reports, manifest }: { reports: boolean; manifest: KubeObject | undefined },
): ProtocolV1Task | undefined {
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

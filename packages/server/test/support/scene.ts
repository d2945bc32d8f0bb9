/** Common setup of the store tests, and helpers for the calls of agents and engines. */
import { newId, sha256 } from '@windlass/kit'
import {
  BuildInput,
  RuntimeInput,
  type AgentFact,
  type EngineEvent,
  type EngineEventBody,
  type StartTask,
  type Task,
} from '@windlass/protocol'
import { createAgent } from '../../src/agents/agents.ts'
import type { App } from '../../src/app.ts'
import { createBuild } from '../../src/builds/create/create.ts'
import { elect } from '../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../src/builds/engine/engine-claim.ts'
import { applyEvents } from '../../src/builds/engine/events.ts'
import { sweep as sweepAttempts } from '../../src/builds/lifecycle/ends/sweep.ts'
import { toFullBuild } from '../../src/builds/lifecycle/view.ts'
import { readFeed, type FeedRange } from '../../src/feed/feed.ts'
import { putRuntime } from '../../src/runtimes/runtimes.ts'
import { findBuild } from '../../src/store/builds/builds.ts'
import type { BuildRow } from '../../src/store/schema/schema.ts'
import { claim } from '../../src/tasks/claim.ts'
import { greetAgent } from '../../src/tasks/hello.ts'
import { reportTask, takeFacts } from '../../src/tasks/report.ts'
import type { AttemptKey } from '../../src/store/builds/attempts.ts'

export const HELLO =
  "version: '1.0'\nsteps:\n  one:\n    image: alpine\n    commands: [echo one]\n  two:\n    image: alpine\n    commands: [echo two]\n"
export const PROTOCOL = { protocol: 2, version: '0', features: [] }

export interface Scene {
  readonly app: App
  readonly agentId: string
  readonly epoch: number
  readonly instance: string
}

/** Registers an agent that has said hello, and its default runtime. */
export async function openScene(app: App, spec: object = {}): Promise<Scene> {
  const { id: agentId } = await createAgent(app, { name: 'agent', runtimes: [] })
  await putRuntime(app, {
    input: RuntimeInput.parse({ name: 'local', type: 'fake', agent: 'agent', isDefault: true, spec }),
    changedBy: 'tester',
  })
  const instance = newId(app.clock.now())
  const { epoch } = await greetAgent(app, agentId, { ...PROTOCOL, executor: 'fake', instance, attempts: [] })
  return { app, agentId, epoch, instance }
}

/** Creates a build. With `needsApproval` it waits for approval before it starts. */
export async function submit({ app }: Pick<Scene, 'app'>, input: object = {}, needsApproval?: true): Promise<BuildRow> {
  const request = BuildInput.parse({ document: HELLO, ...input })
  return createBuild(app, { request, initiator: 'tester', trigger: { kind: 'manual', name: request.trigger }, needsApproval })
}

const never = new AbortController().signal

/** Claims the available tasks of the agent. */
export async function take({ app, agentId, epoch }: Scene): Promise<Task[]> {
  return (await claim(app, agentId, { epoch, room: 100, waitMs: 0 }, never)).tasks
}

export async function report(
  { app, agentId, epoch }: Scene,
  task: Task,
  status: 'done' | 'failed' | 'refused',
  more: object = {},
): Promise<void> {
  await reportTask(app, agentId, { epoch, taskId: task.id, revision: task.revision, status, ...more })
}

let facts = 0

export async function tell({ app, agentId, epoch, instance }: Scene, fact: Omit<AgentFact, 'seq' | 'at'>): Promise<void> {
  facts += 1
  await takeFacts(app, agentId, { epoch, instance, facts: [{ ...fact, seq: facts, at: 1 }] })
}

/** Runs an election, claims the start task and reports it as done. Returns the start task of the build. */
export async function startAttempt(scene: Scene, build: { id: string }): Promise<StartTask> {
  await elect(scene.app)
  const tasks = await take(scene)
  for (const task of tasks) await report(scene, task, 'done')
  const start = tasks.find((task): task is StartTask => task.kind === 'start-attempt' && task.buildId === build.id)
  if (start === undefined) throw new Error(`no start task for ${build.id}, but ${JSON.stringify(tasks)}`)
  return start
}

/** Starts an attempt and claims it as the engine. */
export async function runAttempt(scene: Scene, build: { id: string }): Promise<AttemptKey> {
  const { buildId, attempt } = await startAttempt(scene, build)
  await claimAttempt(scene.app, { buildId, attempt }, { ...PROTOCOL, claimKey: `key-of-${buildId}-${attempt}` })
  return { buildId, attempt }
}

const numbers = new Map<string, number>()

/** Sends the next events of an attempt's engine. */
export async function say(app: App, key: AttemptKey, ...bodies: EngineEventBody[]): Promise<number> {
  return applyEvents(app, key, numbered(key, bodies))
}

export function numbered(key: AttemptKey, bodies: readonly EngineEventBody[]): EngineEvent[] {
  const name = `${key.buildId}/${key.attempt}`
  return bodies.map((body) => {
    const seq = (numbers.get(name) ?? 0) + 1
    numbers.set(name, seq)
    return { ...body, seq, at: seq }
  })
}

export const started: EngineEventBody = {
  type: 'attempt.started',
  engineVersion: '0',
  docker: { version: '0', api: '1.45' },
  volumeKept: true,
}

export function stepDone(step: string): EngineEventBody {
  return { type: 'step.finished', step, try: 1, status: 'success', exitCode: 0, members: {}, exports: [] }
}

export function ended(status: 'success' | 'error' | 'terminated', more: object = {}): EngineEventBody {
  return { type: 'attempt.finished', outcome: { status, ...more }, streams: {} }
}

export async function writeLog(
  app: App,
  key: AttemptKey,
  frame: { stream?: string; offset: number; text: string },
): Promise<number> {
  const bytes = Buffer.from(frame.text)
  const { end } = await app.logs.append({
    ...key,
    stream: frame.stream ?? 'system',
    offset: frame.offset,
    at: 1,
    bytes,
    sha256: sha256(bytes),
  })
  return end
}

/** Reads a page of the feed of a build. */
export async function feedOf(app: App, id: string, range: FeedRange): ReturnType<typeof readFeed> {
  return readFeed(app, await findRow(app, id), range)
}

export async function show(app: App, id: string): ReturnType<typeof toFullBuild> {
  return toFullBuild(app, await findRow(app, id))
}

async function findRow(app: App, id: string): Promise<BuildRow> {
  const row = await findBuild(app.store.query, app.accountId, id)
  if (row === undefined) throw new Error(`no build ${id}`)
  return row
}

/** Runs one sweep of a server whose agents call all the time. */
export async function sweep(app: App, judges: boolean): Promise<void> {
  await callOfAgents(app)
  await sweepAttempts(app, judges)
}

/** Sets the last call of every agent that ever called to the current time. */
export async function callOfAgents({ store, clock }: App): Promise<void> {
  await store.query.updateTable('agent').set({ last_seen_at: clock.now() }).where('last_seen_at', 'is not', null).execute()
}

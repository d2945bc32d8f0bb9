/** Runtimes of which each has another cause why its builds do not run as they should, made through the API of agents. */
import type { ApiClient } from '@windlass/client'
import { claimStart, helloAgent, startEngine, type TestAgent } from '../../../packages/server/test/support/fakes/fake-agent.ts'
import type { HttpScene } from '../../../packages/server/test/support/http-scene.ts'

const MINUTE_MS = 60_000
const PATIENCE_MS = 10 * MINUTE_MS

/** Options of a server whose agents and engines call only once. It must not take their silence for a loss. */
export const PATIENT = {
  timings: {
    agentLeaseMs: PATIENCE_MS,
    taskLeaseMs: PATIENCE_MS,
    suspectMs: PATIENCE_MS,
    deadMs: PATIENCE_MS,
    engineSilentMs: PATIENCE_MS,
  },
}

/** Options of a server whose agent calls only while builds are started. Its silence must not become the reason why others wait. */
export const CONNECTED = { timings: { agentLeaseMs: PATIENCE_MS } }

interface Served {
  readonly name: string
  readonly agent: TestAgent
}

/** Creates a runtime with an agent of its own that is connected. */
export async function serveRuntime({ admin, server }: HttpScene, name: string, spec: object = {}): Promise<Served> {
  const { token } = await admin.agents.create({ name: `agent-${name}` })
  await admin.runtimes.create({ name, type: 'fake', agent: `agent-${name}`, spec })
  return { name, agent: await helloAgent(server.url, token) }
}

/** Makes an agent look as if it had called for the last time some minutes ago. */
export async function silenceAgent({ server }: HttpScene, name: string, minutes: number): Promise<void> {
  const at = Date.now() - minutes * MINUTE_MS
  await server.app.store.write(async (tx) => {
    await tx.query.updateTable('agent').set({ last_seen_at: at }).where('name', '=', name).execute()
  })
}

/** A runtime with one place that is taken by a build in its step `hello`, and `waiting` builds that wait for it. */
export async function fillRuntime(scene: HttpScene, name: string, waiting: number): Promise<void> {
  const { agent } = await serveRuntime(scene, name, { capacity: 1 })
  await scene.submit({ runtime: name, branch: 'main' })
  const task = await claimStart(agent)
  const engine = await startEngine(scene.server.url, task)
  await agent.report(task, 'done')
  await engine.event({ type: 'attempt.started', engineVersion: '0', docker: { version: '0', api: '1.45' }, volumeKept: true })
  await engine.event({ type: 'step.started', step: 'hello', try: 1 })
  for (let build = 0; build < waiting; build += 1) await scene.submit({ runtime: name, branch: 'main' })
}

/** Pods that wait for a reason, as the agent reports it. */
const WAITS = {
  image: ['pod-image-error', 'ErrImagePull: not found', /^Pods cannot pull an image \(1 build\): ErrImagePull: not found$/],
  disk: ['disk-unavailable', 'no volume fits', /^Pods wait for a disk \(1 build\): no volume fits$/],
  'node-disk': ['node-disk-full', 'DiskPressure', /^Pods wait because the disk of a node is full \(1 build\): DiskPressure$/],
  unreachable: ['engine-silent', 'no route to host', /^Engines run but do not reach the server \(1 build\): no route to host$/],
  nodes: ['unschedulable', '0/3 nodes: Insufficient cpu.', /^Pods find no node \(1 build\): 0\/3 nodes: Insufficient cpu\.$/],
  crashed: ['pod-failed', 'exit code 137', /^Pods do not start \(1 build\): exit code 137$/],
} as const

const REJECTIONS = {
  policy: [
    'policy-refused',
    'The image is not allowed.',
    /^The agent refuses objects of builds \(1 build\): The image is not allowed\.$/,
  ],
  quota: ['pod-rejected', 'exceeded quota', /^The cluster rejects objects of builds \(1 build\): exceeded quota$/],
} as const

/** Makes a runtime for each cause. Returns the sentence of each by its name. */
export async function seedCauses(scene: HttpScene): Promise<Readonly<Record<string, RegExp>>> {
  const { admin } = scene
  for (const [name, [reason, message]] of Object.entries(WAITS)) {
    const { agent, task } = await startOn(scene, name)
    await agent.report(task, 'done')
    await agent.fact({ buildId: task.buildId, attempt: task.attempt, state: 'waiting', reason, message })
  }
  for (const [name, [reason, message]] of Object.entries(REJECTIONS)) {
    const { agent, task } = await startOn(scene, name)
    await agent.report(task, 'refused', { reason, message })
  }
  await serveRuntime(scene, 'silent')
  await silenceAgent(scene, 'agent-silent', 15)
  await admin.agents.create({ name: 'agent-new' })
  await admin.runtimes.create({ name: 'new', type: 'fake', agent: 'agent-new' })
  await admin.runtimes.create({ name: 'nobody', type: 'fake' })
  await removeItsAgent(admin, scene)
  await fillRuntime(scene, 'full', 1)
  await serveRuntime(scene, 'older')
  return {
    ...Object.fromEntries([...Object.entries(WAITS), ...Object.entries(REJECTIONS)].map(([name, [, , text]]) => [name, text])),
    silent: /^Agent "agent-silent" has been silent for 1[5-9] min\.$/,
    new: /^Agent "agent-new" has never connected\.$/,
    nobody: /^No agent serves the runtime\.$/,
    deleted: /^Agent "agent-deleted" does not exist\.$/,
    full: /^Full( for \d+ (s|min))?: 1 of 1 builds run, 1 wait\.$/,
    older: /^Agent "agent-older" has version 0\.0\.0-test, the server \d+\.\d+\.\d+\.$/,
  }
}

async function removeItsAgent(admin: ApiClient, scene: HttpScene): Promise<void> {
  await serveRuntime(scene, 'deleted')
  await admin.agents.delete('agent-deleted')
}

async function startOn(scene: HttpScene, name: string) {
  const { agent } = await serveRuntime(scene, name)
  await scene.submit({ runtime: name })
  return { agent, task: await claimStart(agent) }
}

/** Stores samples of the last day, as the server takes them every five minutes. */
export async function seedSamples({ server }: HttpScene, runtime: string): Promise<void> {
  const { store, accountId } = server.app
  const now = Math.floor(Date.now() / (5 * MINUTE_MS)) * 5 * MINUTE_MS
  const rows = Array.from({ length: 280 }, (_, index) => ({
    account_id: accountId,
    at: now - (index + 1) * 5 * MINUTE_MS,
    runtime,
    running: Math.max(0, Math.round(5 + 5 * Math.sin(index / 30))),
    waiting: Math.max(0, Math.round(4 * Math.sin(index / 30) - 1)),
    pairs: 2,
  }))
  await store.write(async (tx) => {
    await tx.query.insertInto('runtime_sample').values(rows).execute()
  })
}

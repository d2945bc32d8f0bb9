import { manualClock, nodeTransport } from '@windlass/kit'
import {
  Agent,
  AgentCreated,
  Build,
  KubeObject,
  Runtime,
  type Method,
  type ProtocolV1Task,
  type StartTask,
} from '@windlass/protocol'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startEngine, type TestEngine } from '../../support/fakes/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { startPollingAgent, type PollingAgent } from '../../support/fakes/polling-agent.ts'

const NAME = 'my-cluster/agent'
const RUNTIME = 'my-cluster/builds'
const EngineEnv = z.array(z.looseObject({ name: z.string(), value: z.string().optional() }))
const EnginePod = z.looseObject({ spec: z.looseObject({ containers: z.array(z.looseObject({ env: EngineEnv })) }) })

interface ProtocolV1Scene extends AsyncDisposable {
  readonly scene: HttpScene
  readonly token: string
  submit(): Promise<Build>
}

/** Opens a server with a runtime and a registered public agent. */
async function openScene(spec: object = {}): Promise<ProtocolV1Scene> {
  const scene = await openHttpScene({ timings: { sweepMs: 100, taskBackoffMs: 50 } })
  const { token } = await scene.admin.call('POST', '/v1/agents', AgentCreated, { body: { name: NAME, runtimes: [RUNTIME] } })
  await scene.admin.call('POST', '/v1/runtimes', Runtime, { body: { name: RUNTIME, spec } })
  return {
    scene,
    token,
    submit: () => scene.submit({ runtime: RUNTIME }),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  }
}

/** Starts the engine of a build once its pod was created. */
async function engineOf({ scene }: ProtocolV1Scene, agent: PollingAgent, build: Build, suffix = ''): Promise<TestEngine> {
  const manifest = await vi.waitFor(
    () => {
      const pod = agent.objects.get(`Pod/engine-${build.id}${suffix}`)
      if (pod === undefined) throw new Error('no engine pod yet')
      return pod
    },
    { timeout: 100_000, interval: 20 },
  )
  const env = EnginePod.parse(KubeObject.parse(manifest)).spec.containers.flatMap((container) => container.env)
  const bootstrap = env.find(({ name }) => name === 'WINDLASS_ENGINE_BOOTSTRAP')?.value ?? ''
  const attempt = suffix === '' ? 1 : Number(suffix.split('-').at(-1)) + 1
  const start: Pick<StartTask, 'engine' | 'buildId' | 'attempt'> = {
    engine: { bootstrap, serverUrl: scene.server.url },
    buildId: build.id,
    attempt,
  }
  return startEngine(scene.server.url, start as StartTask)
}

async function ends({ scene }: ProtocolV1Scene, build: Build): Promise<Build> {
  return vi.waitFor(
    async () => {
      const now = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
      expect(['success', 'error', 'terminated']).toContain(now.status)
      return now
    },
    { timeout: 100_000, interval: 50 },
  )
}

const isEmpty = async (agent: PollingAgent): Promise<void> =>
  vi.waitFor(() => expect([...agent.objects.keys()]).toEqual([]), { timeout: 100_000, interval: 50 })

test.each([['name'], ['id']])(
  'a public agent identified by its %s runs builds from claim to cleanup (R226, R227, A02, A03)',
  async (by) => {
    await using held = await openScene()
    const shown = await held.scene.admin.call('GET', `/v1/agents/${encodeURIComponent(NAME)}`, Agent)
    const { url } = held.scene.server
    await using agent = startPollingAgent({ url, token: held.token, agent: by === 'id' ? shown.id : NAME, intervalMs: 50 })
    const builds = [await held.submit(), await held.submit()]
    for (const build of builds) {
      const engine = await engineOf(held, agent, build)
      expect(engine.claimed.docker?.ca).toContain('BEGIN CERTIFICATE')
      await engine.succeed()
      expect(await ends(held, build)).toMatchObject({ status: 'success' })
    }
    await isEmpty(agent)
    for (const { id } of builds)
      expect(agent.calls.filter((call) => call.includes(id))).toEqual([
        `create PersistentVolumeClaim/pvc-dind-${id}`,
        `create Pod/dind-${id}`,
        `create Pod/engine-${id}`,
        `delete Pod/engine-${id}`,
        `delete Pod/dind-${id}`,
        `delete PersistentVolumeClaim/pvc-dind-${id}`,
      ])
    expect(new Set(agent.answers.filter((status) => status >= 300))).toEqual(new Set())
    expect(await held.scene.admin.call('GET', `/v1/agents/${shown.id}`, Agent)).toMatchObject({
      status: 'online',
      health: 'healthy',
      message: 'All good',
      version: '2.0.10',
      protocol: 1,
      runtimes: [RUNTIME],
    })
  },
)

test('a terminated build of a public agent leaves no pod and no claim (R245)', async () => {
  await using held = await openScene()
  await using agent = startPollingAgent({ url: held.scene.server.url, token: held.token, agent: NAME, intervalMs: 50 })
  const running = await held.submit()
  const engine = await engineOf(held, agent, running)
  await held.scene.admin.call('POST', `/v1/builds/${running.id}/terminate`, z.unknown())
  await engine.finish({ status: 'terminated', reason: 'cancelled' })
  expect(await ends(held, running)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  const elected = await held.submit()
  await vi.waitFor(() => expect(agent.objects.has(`Pod/engine-${elected.id}`)).toBe(true), { timeout: 100_000 })
  await held.scene.admin.call('POST', `/v1/builds/${elected.id}/terminate`, z.unknown())
  expect(await ends(held, elected)).toMatchObject({ status: 'terminated' })
  await isEmpty(agent)
})

test('a permanent error of the cluster ends the build with its message, a transient error does not (A09, A10)', async () => {
  await using held = await openScene({ limits: { retries: 5 } })
  let transientErrors = 3
  const refuse = (task: ProtocolV1Task): { reason: string; isRetriable: boolean } | undefined => {
    if (task.type === 'CreatePod' && task.spec.metadata.name.startsWith('dind-') && (transientErrors -= 1) >= 0)
      return { reason: 'failed creating resource: etcdserver: request timed out', isRetriable: true }
    if (task.type === 'CreatePvc' && transientErrors < 0)
      return { reason: 'failed creating resource: persistentvolumeclaims is forbidden: exceeded quota', isRetriable: false }
    return undefined
  }
  await using agent = startPollingAgent({ url: held.scene.server.url, token: held.token, agent: NAME, intervalMs: 50, refuse })
  const retried = await held.submit()
  const engine = await engineOf(held, agent, retried)
  await vi.waitFor(() => expect(agent.objects.has(`Pod/dind-${retried.id}`)).toBe(true), { timeout: 100_000 })
  await engine.succeed()
  expect(await ends(held, retried)).toMatchObject({ status: 'success' })
  const refused = await held.submit()
  expect(await ends(held, refused)).toMatchObject({
    status: 'error',
    reason: 'disk-unavailable',
    message: 'failed creating resource: persistentvolumeclaims is forbidden: exceeded quota',
  })
  await isEmpty(agent)
})

test('holds a poll until there are tasks, and a token gives access only to the tasks of its own agent', async () => {
  await using held = await openScene()
  const { url } = held.scene.server
  const transport = nodeTransport()
  const call = async (method: Method, path: string, token: string, body?: object): Promise<{ status: number; text: string }> => {
    const headers = { authorization: token, 'content-type': 'application/json' }
    const request = { method, url: url + path, headers, signal: AbortSignal.timeout(20_000) }
    const answer = await transport({ ...request, ...(body !== undefined && { body: JSON.stringify(body) }) })
    return { status: answer.status, text: await answer.text() }
  }
  const tasks = `/api/agent/${encodeURIComponent(NAME)}/tasks`
  expect(await call('GET', tasks, held.token)).toEqual({ status: 200, text: '[]' })
  const waiting = call('GET', `${tasks}?waitForStatusReport=true`, held.token)
  const build = await held.submit()
  expect((await waiting).text).toContain(build.id)
  expect((await call('GET', '/api/agent/agent/tasks', held.token)).status).toBe(403)
  expect((await call('GET', tasks, held.scene.adminToken)).status).toBe(403)
  expect((await call('GET', tasks, `${held.token}x`)).status).toBe(401)
  expect((await call('GET', '/api/agent/an-older-name/tasks', held.token)).status).toBe(200)
  const none = { status: 'Success', statusRevision: 1, isRetriable: false }
  expect((await call('POST', `${tasks}/${'0'.repeat(24)}/statuses`, held.token, none)).status).toBe(404)
})

test('an agent that has not called for a minute is unhealthy (R233)', async () => {
  const clock = manualClock(1_800_000_000_000)
  await using scene = await openHttpScene({ clock })
  const { token } = await scene.admin.call('POST', '/v1/agents', AgentCreated, { body: { name: 'quiet' } })
  const show = (): Promise<z.output<typeof Agent>> => scene.admin.call('GET', '/v1/agents/quiet', Agent)
  expect((await show()).health).toBeUndefined()
  const headers = { authorization: token, 'content-type': 'application/json' }
  const body = '{"message":"All good"}'
  const answer = await fetch(`${scene.server.url}/api/agent/quiet/status`, { method: 'PUT', headers, body })
  expect(answer.status).toBe(204)
  clock.advance(59_000)
  expect(await show()).toMatchObject({ health: 'healthy', message: 'All good' })
  clock.advance(2000)
  expect(await show()).toMatchObject({ health: 'unhealthy', status: 'offline' })
})

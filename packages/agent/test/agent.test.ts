/** The loops of an agent against a real server, with fake engines that speak the real protocol. */
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { Build, createClient } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { openFakeCluster, type FakeCluster, type FakeObservation, type FakeScript } from '../src/fake/index.ts'
import { startAgent, type Agent, type AttemptRef, type OpenExecutor } from '../src/index.ts'

const TIMINGS = { heartbeatMs: 300, suspectMs: 1_500, deadMs: 2_500, agentLeaseMs: 3_000, taskLeaseMs: 600, sweepMs: 50 }

interface Story extends AsyncDisposable {
  readonly scene: HttpScene
  readonly cluster: FakeCluster
  readonly seen: FakeObservation[]
  agent(executor?: OpenExecutor): Agent
  ended(id: string): Promise<Build>
}

async function openStory(script: Partial<FakeScript> = {}): Promise<Story> {
  const scene = await openHttpScene({ timings: TIMINGS })
  const seen: FakeObservation[] = []
  const agents: Agent[] = []
  const cluster = openFakeCluster({
    transport: nodeTransport({ maxSockets: 1_000 }),
    clock: systemClock,
    log: silentLog,
    script,
    observe: (observation) => seen.push(observation),
  })
  return {
    scene,
    cluster,
    seen,
    agent(executor = cluster.executor) {
      const client = createClient({ url: scene.server.url, token: scene.agentToken, transport: nodeTransport() })
      const agent = startAgent({ client, executor, clock: systemClock, log: silentLog, waitMs: 2_000, sweepMs: 200 })
      agents.push(agent)
      return agent
    },
    async ended(id) {
      for (;;) {
        const build = await scene.admin.call('GET', `/v1/builds/${id}`, Build)
        if (['success', 'error', 'terminated'].includes(build.status)) return build
        await systemClock.sleep(20)
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent.close(0)))
      await cluster.close()
      await scene[Symbol.asyncDispose]()
    },
  }
}

async function until(is: () => boolean): Promise<void> {
  for (let i = 0; !is(); i += 1) {
    if (i > 500) throw new Error('not within 10 s')
    await systemClock.sleep(20)
  }
}

function of(seen: readonly FakeObservation[], type: FakeObservation['type']): FakeObservation[] {
  return seen.filter((observation) => observation.type === type)
}

test('a build is handed to the agent at once, runs, and leaves nothing', async () => {
  await using story = await openStory()
  await story.agent().ready
  const startedAt = performance.now()
  const { id } = await story.scene.submit()
  expect(await story.ended(id)).toMatchObject({ status: 'success', attempt: 1 })
  expect(performance.now() - startedAt).toBeLessThan(1_000)
  await until(() => story.cluster.running().length === 0)
})

test('R233: a second process with the same identity fences the first, which ends', async () => {
  await using story = await openStory()
  const first = story.agent()
  await first.ready
  const second = story.agent()
  await second.ready
  await expect(first.ended).rejects.toMatchObject({ code: 'agent-fenced' })
  const { id } = await story.scene.submit()
  expect(await story.ended(id)).toMatchObject({ status: 'success' })
})

test('an engine that dies without a word is followed by a second attempt', async () => {
  await using story = await openStory({ crashChance: { 'after-claim': 1 } })
  await story.agent().ready
  const { id } = await story.scene.submit()
  await until(() => of(story.seen, 'pod-ended').length > 0)
  story.cluster.setScript({ crashChance: {} })
  expect(await story.ended(id)).toMatchObject({ status: 'success', attempt: 2 })
})

test('an agent that is replaced in the middle of builds fails none of them', async () => {
  await using story = await openStory({ stepMs: [600, 900] })
  const first = story.agent()
  await first.ready
  const builds = await Promise.all(Array.from({ length: 5 }, () => story.scene.submit()))
  await until(() => of(story.seen, 'claimed').length === 5)
  await first.close(0)
  await story.agent().ready
  for (const { id } of builds) {
    const build = await story.ended(id)
    expect(build, JSON.stringify(build.attempts)).toMatchObject({ status: 'success', attempt: 1 })
  }
})

test('a terminated build stops its step, and its attempt is removed', async () => {
  await using story = await openStory({ stepMs: [60_000, 60_000] })
  await story.agent().ready
  const { id } = await story.scene.submit()
  await until(() => of(story.seen, 'step-started').length === 1)
  const startedAt = performance.now()
  await story.scene.admin.text('POST', `/v1/builds/${id}/terminate`, { body: {} })
  expect(await story.ended(id)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})

test('attempts that are over but still there are removed after the next hello', async () => {
  await using story = await openStory()
  const { id } = await story.scene.submit()
  const removed: AttemptRef[] = []
  const hoarder: OpenExecutor = (context) => ({
    ...story.cluster.executor(context),
    stop: async ({ buildId, attempt }) => void removed.push({ buildId, attempt }),
    attempts: async () => [{ buildId: id, attempt: 1 }],
  })
  await story.agent(hoarder).ready
  expect(await story.ended(id)).toMatchObject({ status: 'success' })
  await until(() => removed.length >= 2)
  expect(removed[0]).toEqual({ buildId: id, attempt: 1 })
})

test('R239: a closed agent finishes what it has in hand and claims nothing more', async () => {
  await using story = await openStory()
  const agent = story.agent()
  await agent.ready
  const { id } = await story.scene.submit()
  await until(() => of(story.seen, 'pod-started').length === 1)
  await agent.close()
  await expect(agent.ended).resolves.toBeUndefined()
  const { id: later } = await story.scene.submit()
  await systemClock.sleep(200)
  expect(of(story.seen, 'pod-started').map(({ buildId }) => buildId)).toEqual([id])
  expect(await story.scene.admin.call('GET', `/v1/builds/${later}`, Build)).not.toMatchObject({ status: 'success' })
})

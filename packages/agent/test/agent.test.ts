/** The loops of an agent against a real server, with fake engines that speak the real protocol. */
import { isCallOf } from '@windlass/client'
import { AGENT_ROUTES } from '@windlass/client/agent'
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { createClient, type Build, type Transport } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import {
  openFakeCluster,
  type FakeCluster,
  type FakeObservation,
  type FakeScript,
} from '../../../e2e/support/fake-engines/index.ts'
import { startAgent, type Agent, type AgentOptions, type AttemptRef, type OpenExecutor } from '../src/index.ts'

/** Short where a test waits for them; silence never counts as a loss, because this process may be paused for a while. */
const TIMINGS = { heartbeatMs: 300, taskLeaseMs: 600, sweepMs: 50 }

interface Story extends AsyncDisposable {
  readonly scene: HttpScene
  readonly cluster: FakeCluster
  readonly seen: FakeObservation[]
  /** Polls for tasks: sent by agents, answered by the server, and answered when the first engine started. */
  readonly claims: { begun: number; answered: number; answeredAtStart?: number }
  agent(options?: Partial<AgentOptions>): Agent
  ended(id: string): Promise<Build>
}

/** `onSeen` is called in the same step of the cluster, so its changes apply to the next engine. */
async function openStory(
  script: Partial<FakeScript> = {},
  onSeen?: (observation: FakeObservation, cluster: FakeCluster) => void,
): Promise<Story> {
  const scene = await openHttpScene({ timings: TIMINGS })
  const seen: FakeObservation[] = []
  const claims: Story['claims'] = { begun: 0, answered: 0 }
  const agents: Agent[] = []
  const inner = nodeTransport()
  const transport: Transport = async (request) => {
    if (!isCallOf(AGENT_ROUTES.claim, request)) return inner(request)
    claims.begun += 1
    const response = await inner(request)
    claims.answered += 1
    return response
  }
  const cluster: FakeCluster = openFakeCluster({
    transport: nodeTransport({ maxSockets: 1_000 }),
    clock: systemClock,
    log: silentLog,
    script,
    observe: (observation) => {
      seen.push(observation)
      onSeen?.(observation, cluster)
      if (observation.type === 'pod-started') claims.answeredAtStart ??= claims.answered
    },
  })
  return {
    scene,
    cluster,
    seen,
    claims,
    agent(options) {
      const client = createClient({ url: scene.server.url, token: scene.agentToken, transport })
      const periods = { waitMs: 2_000, sweepMs: 200 }
      const agent = startAgent({ client, executor: cluster.executor, clock: systemClock, log: silentLog, ...periods, ...options })
      agents.push(agent)
      return agent
    },
    async ended(id) {
      for (;;) {
        const build = await scene.admin.builds.get(id)
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
    if (i > 3_000) throw new Error('timed out after a minute')
    await systemClock.sleep(20)
  }
}

function of(seen: readonly FakeObservation[], type: FakeObservation['type']): FakeObservation[] {
  return seen.filter((observation) => observation.type === type)
}

test('stops when the server refuses it, but not on the error pages of a proxy', async () => {
  await using story = await openStory()
  const inner = nodeTransport()
  let isBlocked = false
  const refused = new Set<string>()
  const pages = [401, 403, 404, 500]
  let calls = 0
  const transport: Transport = async (request) => {
    if (!isBlocked) return inner(request)
    const status = pages[(calls += 1) % pages.length] ?? 401
    refused.add(`${new URL(request.url).pathname} ${status}`)
    const html = '<h1>Sign in</h1>'
    return { status, headers: { 'content-type': 'text/html' }, body: (async function* () {})(), text: async () => html }
  }
  const client = createClient({ url: story.scene.server.url, token: story.scene.agentToken, transport })
  const agent = story.agent({ client, waitMs: 200 })
  await agent.ready
  isBlocked = true
  await until(() => pages.every((status) => refused.has(`${AGENT_ROUTES.claim.path} ${status}`)))
  isBlocked = false
  const build = await story.scene.submit()
  expect(await story.ended(build.id)).toMatchObject({ status: 'success', attempt: 1 })
  await story.scene.admin.agents.delete('agent')
  await expect(agent.ended).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('receives a build by the held poll, runs it and leaves no objects', async () => {
  await using story = await openStory()
  await story.agent({ waitMs: 60_000 }).ready
  await until(() => story.claims.begun === 1)
  const { id } = await story.scene.submit()
  expect(await story.ended(id)).toMatchObject({ status: 'success', attempt: 1 })
  expect(story.claims.answeredAtStart).toBe(1)
  await until(() => story.cluster.running().length === 0)
})

test('stops when a second process with the same identity takes over (R233)', async () => {
  await using story = await openStory()
  const first = story.agent()
  await first.ready
  const second = story.agent()
  await second.ready
  await expect(first.ended).rejects.toMatchObject({ code: 'agent-fenced' })
  const { id } = await story.scene.submit()
  expect(await story.ended(id)).toMatchObject({ status: 'success' })
})

test('starts a second attempt when an engine dies silently', async () => {
  await using story = await openStory({ crashChance: { 'after-claim': 1 } }, ({ type }, cluster) => {
    if (type === 'pod-ended') cluster.setScript({ crashChance: {} })
  })
  await story.agent().ready
  const { id } = await story.scene.submit()
  expect(await story.ended(id)).toMatchObject({ status: 'success', attempt: 2 })
})

test('fails no build when the agent is replaced in the middle of builds', async () => {
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

test('stops the step of a terminated build and removes its attempt', async () => {
  await using story = await openStory({ stepMs: [3_600_000, 3_600_000] })
  await story.agent().ready
  const { id } = await story.scene.submit()
  await until(() => of(story.seen, 'step-started').length === 1)
  await story.scene.admin.builds.terminate(id)
  expect(await story.ended(id)).toMatchObject({ status: 'terminated', reason: 'cancelled' })
  // The engine itself ended the step and reported it: the build was not killed.
  expect(of(story.seen, 'step-ended')).toMatchObject([{ status: 'terminated' }])
  // The engine knows the end when the server has answered.
  await until(() => of(story.seen, 'finished').length > 0)
  expect(of(story.seen, 'finished')).toMatchObject([{ status: 'terminated' }])
  await until(() => story.cluster.running().length === 0)
})

test('removes attempts that are over after the next hello', async () => {
  await using story = await openStory()
  const { id } = await story.scene.submit()
  const removed: AttemptRef[] = []
  const hoarder: OpenExecutor = (context) => ({
    ...story.cluster.executor(context),
    stop: async ({ buildId, attempt }) => void removed.push({ buildId, attempt }),
    attempts: async () => [{ buildId: id, attempt: 1 }],
  })
  await story.agent({ executor: hoarder }).ready
  expect(await story.ended(id)).toMatchObject({ status: 'success' })
  await until(() => removed.length >= 2)
  expect(removed[0]).toEqual({ buildId: id, attempt: 1 })
})

test('finishes its tasks and claims no more after close (R239)', async () => {
  await using story = await openStory()
  const agent = story.agent()
  await agent.ready
  const { id } = await story.scene.submit()
  await until(() => of(story.seen, 'pod-started').length === 1)
  await agent.close()
  await expect(agent.ended).resolves.toBeUndefined()
  const { begun } = story.claims
  const { id: later } = await story.scene.submit()
  let build = await story.scene.admin.builds.get(later)
  // Until its task is queued for an agent.
  while (build.status !== 'elected') build = await story.scene.admin.builds.get(later)
  expect(of(story.seen, 'pod-started').map(({ buildId }) => buildId)).toEqual([id])
  expect(story.claims.begun).toBe(begun)
})

/** Returns an executor whose engines are all silent, and the log reads that it has started and not answered. */
function openSilent(): { executor: OpenExecutor; reads: { ref: AttemptRef; signal: AbortSignal; answer: () => void }[] } {
  const reads: ReturnType<typeof openSilent>['reads'] = []
  const executor: OpenExecutor = () => ({
    kind: 'fake',
    start: async () => undefined,
    stop: async () => undefined,
    attempts: async () => [],
    lastLog(ref, signal) {
      const { promise, resolve } = Promise.withResolvers<undefined>()
      signal.addEventListener('abort', () => resolve(undefined))
      reads.push({ ref, signal, answer: () => resolve(undefined) })
      return promise
    },
    close: async () => undefined,
  })
  return { executor, reads }
}

test('reads the logs of silent engines a few at a time, each once, and only while the agent runs', async () => {
  await using story = await openStory()
  const silent = Array.from({ length: 12 }, (_, n) => ({ buildId: String(n).padStart(24, '0'), attempt: 1, runtime: 'local' }))
  let leases = 0
  const inner = nodeTransport()
  const transport: Transport = async (request) => {
    const response = await inner(request)
    if (!isCallOf(AGENT_ROUTES.renewLease, request)) return response
    leases += 1
    const body = JSON.stringify({ ...JSON.parse(await response.text()), silent })
    return { ...response, text: async () => body }
  }
  const { executor, reads } = openSilent()
  const client = createClient({ url: story.scene.server.url, token: story.scene.agentToken, transport })
  const agent = story.agent({ client, executor })
  await until(() => leases >= 4)
  expect(reads).toHaveLength(5)
  reads[0]?.answer()
  await until(() => reads.length > 5)
  for (let n = 0; n < silent.length; n += 1) {
    await until(() => reads.length > n)
    if (n < silent.length - 1) reads[n]?.answer()
  }
  const before = leases
  await until(() => leases >= before + 3)
  expect(reads.map(({ ref }) => ref.buildId).toSorted()).toEqual(silent.map(({ buildId }) => buildId))
  await agent.close(0)
  expect(reads.at(-1)?.signal.aborted).toBe(true)
})

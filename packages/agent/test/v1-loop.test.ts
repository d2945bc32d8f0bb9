/** How an agent of protocol v1 goes on when platform, cluster or its own process fail. */
import { nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openLeadership, openPlatform } from '../src/v1/index.ts'
import { openFakeKube } from './support/fake-kube.ts'
import type { Trouble } from './support/fake-platform.ts'
import { AGENT_ID, gate, openV1Scene, task, TOKEN, until } from './support/v1-scene.ts'

test.each<[string, Trouble]>([
  ['500', 500],
  ['a connection that is cut', 'cut'],
  ['an answer that is not JSON', 'nonsense'],
])('R240, A17: after %s the next poll comes, a second later', async (_, trouble) => {
  await using scene = await openV1Scene()
  let polls = 0
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') && (polls += 1) <= 1 ? trouble : undefined)
  const agent = scene.agent()
  await agent.ready
  const [first, second] = scene.platform.polls.map(({ at }) => at)
  // A cut connection may be tried once at once, because the socket was kept.
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(trouble === 'cut' ? -1 : 200)
  const created = task('CreatePod')
  scene.platform.script.push([created])
  await until('a report', () => scene.platform.reportsOf(created._id).length > 0)
})

test('R240: a platform that asks for a pause gets it', async () => {
  await using scene = await openV1Scene()
  let polls = 0
  scene.platform.trouble = ({ path }) =>
    path.endsWith('/tasks') && (polls += 1) === 1 ? { status: 429, retryAfter: '4' } : undefined
  await scene.agent().ready
  const [first, second] = scene.platform.polls.map(({ at }) => at)
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(2_000)
})

test('R240, A18: a poll that is never answered is cut, and the next one comes', async () => {
  await using scene = await openV1Scene()
  let polls = 0
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') && (polls += 1) === 1 ? 'hang' : undefined)
  await scene.agent({ timeoutMs: 300 }).ready
  expect(scene.platform.polls.length).toBeGreaterThan(1)
})

test('R233, A29: signs of life come at the start and in their rhythm, also while polls fail, and say so', async () => {
  await using scene = await openV1Scene()
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') ? 503 : undefined)
  scene.agent({ heartbeatMs: 100 })
  await until('five heartbeats', () => scene.platform.heartbeats.length >= 5)
  expect(scene.platform.heartbeats[0]).toMatchObject({ method: 'PUT', body: { message: 'All good' } })
  expect(scene.platform.heartbeats.at(-1)?.body).toEqual({ message: expect.stringContaining('Polls fail') })
  expect(scene.platform.heartbeats[0]?.headers).toMatchObject({
    authorization: TOKEN,
    'content-type': 'application/json',
    'user-agent': 'cf-classic-runner/1.2.3 cf-classic-runtime/9.9.9',
  })
})

test('the path of the platform URL is kept, and the id of the agent is one segment', async () => {
  await using scene = await openV1Scene()
  const url = `${scene.platform.url}/base/`
  const line = { url, agentId: AGENT_ID, token: TOKEN, transport: nodeTransport(), version: '1' }
  await openPlatform(line).heartbeat('All good', new AbortController().signal)
  expect(scene.platform.heartbeats[0]?.path).toBe('/base/api/agent/cluster%2Fone/status')
})

test('a report that the platform refuses to take now is sent until it has it, one that it does not want is dropped', async () => {
  await using scene = await openV1Scene()
  const [late, unwanted] = [task('CreatePod', { name: 'late' }), task('CreatePod', { name: 'unwanted', workflow: 'wf2' })]
  let refusals = 0
  scene.platform.trouble = ({ path }) => {
    if (path.includes(`/${unwanted._id}/`)) return 404
    return path.includes(`/${late._id}/`) && (refusals += 1) <= 2 ? 503 : undefined
  }
  const agent = scene.agent()
  scene.platform.script.push([late, unwanted])
  await until('three tries', () => scene.platform.reportsOf(late._id).length === 3)
  await agent.idle()
  expect(agent.status().facts).toBe(0)
  expect(scene.platform.reportsOf(unwanted._id)).toHaveLength(1)
})

test('a task that comes again while it is in hand, or while its report waits, is not carried out again', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  let isAway = true
  scene.platform.trouble = ({ path }) => (isAway && path.endsWith('/statuses') ? 503 : undefined)
  const agent = scene.agent()
  const created = task('CreatePod')
  scene.platform.script.push([created], [created])
  await until('both polls', () => scene.platform.polls.length > 3)
  held.open()
  await until('a report waits', () => agent.status().facts === 1)
  scene.platform.script.push([created])
  await until('another poll', () => scene.platform.script.length === 0)
  isAway = false
  await agent.idle()
  expect(scene.kube.calls.filter(({ method }) => method === 'POST')).toHaveLength(1)
})

test('what an agent had in hand when it was killed is deleted by the next one, or told as not created', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  const first = scene.agent()
  const created = task('CreatePod', { revision: 7 })
  const deleted = task('DeletePod', { workflow: 'wf2', name: 'leftover' })
  scene.platform.script.push([created, deleted])
  await until('both are in hand', () => scene.kube.inFlight.now === 2)
  await first.close(0)
  held.open()
  expect(scene.platform.reports).toEqual([])
  scene.kube.intercept = () => undefined
  scene.agent()
  await until('both are reported', () => scene.platform.reports.length === 2)
  expect(scene.platform.reportsOf(created._id)[0]).toMatchObject({ status: 'Error', isRetriable: true, statusRevision: 8 })
  expect(scene.platform.reportsOf(deleted._id)[0]).toMatchObject({ status: 'Success' })
})

test('R239, A19: an agent that ends polls no more, finishes five batches that wait, and reports them', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  const agent = scene.agent({ concurrency: 1 })
  const tasks = Array.from({ length: 6 }, (_, n) => task('CreatePod', { workflow: `wf${n}` }))
  scene.platform.script.push(tasks)
  await until('six in hand', () => agent.status().tasks === 6)
  const closing = agent.close()
  await systemClock.sleep(100)
  const polls = scene.platform.polls.length
  held.open()
  await closing
  expect(scene.platform.polls).toHaveLength(polls)
  expect(tasks.map(({ _id }) => scene.platform.reportsOf(_id)[0]?.['status'])).toEqual(tasks.map(() => 'Success'))
})

test('of two replicas one polls; when it ends the other one goes on at once, when it dies after the lease', async () => {
  await using scene = await openV1Scene()
  await using leases = await openFakeKube()
  const leadership = (holder: string): ReturnType<typeof openLeadership> =>
    openLeadership({
      kube: leases.kube(),
      namespace: 'runner',
      name: 'agent',
      holder,
      clock: systemClock,
      log: silentLog,
      leaseMs: 6_000,
    })
  const first = scene.agent({ leadership: leadership('a') })
  await first.ready
  const second = scene.agent({ leadership: leadership('b'), stateDir: `${scene.stateDir}/b` })
  let isSecondUp = false
  void second.ready.then(() => (isSecondUp = true))
  await systemClock.sleep(1_500)
  expect(isSecondUp).toBe(false)
  expect(await second.metrics()).toContain('windlass_agent_leader 0')
  // A replica that waits is ready: else a rolling update would wait for ever.
  expect(second.status().heardAt).toBeGreaterThan(0)
  const startedAt = performance.now()
  await first.close()
  await second.ready
  expect(performance.now() - startedAt).toBeLessThan(5_500)
  // The second one loses its way to the lease: it stops before a third one may begin.
  leases.intercept = ({ method, body }) =>
    method === 'PATCH' && JSON.stringify(body).includes('"holderIdentity":"b"') ? { status: 503 } : undefined
  const third = scene.agent({ leadership: leadership('c'), stateDir: `${scene.stateDir}/c` })
  await third.ready
  expect(await second.metrics()).toContain('windlass_agent_leader 0')
  expect(await third.metrics()).toContain('windlass_agent_leader 1')
})

test('where no lease may be held the agent polls all the same', async () => {
  await using scene = await openV1Scene()
  await using leases = await openFakeKube()
  leases.intercept = () => ({ status: 403, reason: 'Forbidden' })
  const options = { kube: leases.kube(), namespace: 'runner', name: 'agent', holder: 'a', clock: systemClock, log: silentLog }
  await scene.agent({ leadership: openLeadership(options) }).ready
})

/** How an agent of protocol v1 continues after failures of the platform, the cluster or its own process. */
import { manualClock, nodeTransport, silentLog, systemClock } from '@windlass/kit'
import { openLeadership } from '@windlass/kube'
import { expect, test } from 'vitest'
import { recordPauses } from '../../../e2e/support/clocks.ts'
import { openPlatform, type V1Agent } from '../src/v1/index.ts'
import { openFakeKube } from './support/fake-kube.ts'
import type { Trouble } from './support/fake-platform.ts'
import { AGENT_ID, gate, openV1Scene, task, TOKEN, until } from './support/v1-scene.ts'

test.each<[string, Trouble]>([
  ['500', 500],
  ['a connection that is cut', 'cut'],
  ['an answer that is not JSON', 'nonsense'],
])('polls again a second after %s (R240, A17)', async (_, trouble) => {
  await using scene = await openV1Scene()
  let polls = 0
  // A call that is cut on a kept connection is repeated at once, so the second cut is the first failure that the agent sees.
  const failing = trouble === 'cut' ? 2 : 1
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') && (polls += 1) <= failing ? trouble : undefined)
  const clock = recordPauses(systemClock)
  const agent = scene.agent({ clock })
  await agent.ready
  // Half of the delay is jitter; without failures polls are 20 ms apart.
  expect(clock.pauses.filter((ms) => ms >= 500 && ms <= 1_000)).toHaveLength(1)
  const created = task('CreatePod')
  scene.platform.script.push([created])
  await until('a report', () => scene.platform.reportsOf(created._id).length > 0)
})

test('waits as long as the platform asks (R240)', async () => {
  await using scene = await openV1Scene()
  let polls = 0
  scene.platform.trouble = ({ path }) =>
    path.endsWith('/tasks') && (polls += 1) === 1 ? { status: 429, retryAfter: '4' } : undefined
  const clock = recordPauses(manualClock())
  const agent = scene.agent({ clock })
  await until('the agent pauses', () => clock.pauses.includes(4_000))
  clock.advance(4_000)
  await agent.ready
})

test('aborts a poll that is never answered and polls again (R240, A18)', async () => {
  await using scene = await openV1Scene()
  let polls = 0
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') && (polls += 1) === 1 ? 'hang' : undefined)
  await scene.agent({ timeoutMs: 300 }).ready
  expect(scene.platform.polls.length).toBeGreaterThan(1)
})

test('sends heartbeats from the start at their interval, also while polls fail, and includes the failure (R233, A29)', async () => {
  await using scene = await openV1Scene()
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') ? 503 : undefined)
  scene.agent({ heartbeatMs: 100 })
  const { heartbeats } = scene.platform
  await until(
    'five heartbeats and a failed poll',
    () => heartbeats.length >= 5 && JSON.stringify(heartbeats).includes('Polls fail'),
  )
  expect(scene.platform.heartbeats[0]).toMatchObject({ method: 'PUT', body: { message: 'All good' } })
  expect(scene.platform.heartbeats.at(-1)?.body).toEqual({ message: expect.stringContaining('Polls fail') })
  expect(scene.platform.heartbeats[0]?.headers).toMatchObject({
    authorization: TOKEN,
    'content-type': 'application/json',
    'user-agent': 'cf-classic-runner/1.2.3 cf-classic-runtime/9.9.9',
  })
})

test('keeps the path of the platform URL and encodes the agent id as one segment', async () => {
  await using scene = await openV1Scene()
  const url = `${scene.platform.url}/base/`
  const line = { url, agentId: AGENT_ID, token: TOKEN, transport: nodeTransport(), version: '1' }
  await openPlatform(line).heartbeat('All good', new AbortController().signal)
  expect(scene.platform.heartbeats[0]?.path).toBe('/base/api/agent/cluster%2Fone/status')
})

test('repeats a report after a transient refusal and drops one that the platform refuses permanently', async () => {
  await using scene = await openV1Scene()
  const [late, unwanted] = [task('CreatePod', { name: 'late' }), task('CreatePod', { name: 'unwanted', workflow: 'wf2' })]
  let refusals = 0
  scene.platform.trouble = ({ path }) => {
    if (path.includes(`/${unwanted._id}/`)) return { status: 404, error: 'NOT_FOUND_ERROR' }
    return path.includes(`/${late._id}/`) && (refusals += 1) <= 2 ? 503 : undefined
  }
  const agent = scene.agent()
  scene.platform.script.push([late, unwanted])
  await until('three tries', () => scene.platform.reportsOf(late._id).length === 3)
  await agent.idle()
  expect(agent.status().facts).toBe(0)
  expect(scene.platform.reportsOf(unwanted._id)).toHaveLength(1)
})

test.each([400, 404, 405, 407, 408, 413, 421, 422])('repeats a report after a %i of a proxy', async (status) => {
  await using scene = await openV1Scene()
  let refusals = 0
  scene.platform.trouble = ({ path }) => (path.endsWith('/statuses') && (refusals += 1) === 1 ? status : undefined)
  const agent = scene.agent()
  const created = task('CreatePod')
  scene.platform.script.push([created])
  await until('the report', () => scene.platform.reports.length > 0)
  await agent.idle()
  expect(scene.platform.reportsOf(created._id)).toMatchObject([{ status: 'Success' }, { status: 'Success' }])
})

test('ignores a task that comes again while it is in progress or its report is unsent', async () => {
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

test('deletes what a killed agent was deleting, and reports its creates as not done', async () => {
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

test('finishes and reports five queued batches on close, without polling (R239, A19)', async () => {
  await using scene = await openV1Scene()
  const held = gate()
  scene.kube.intercept = () => held.opened
  const agent = scene.agent({ concurrency: 1 })
  const tasks = Array.from({ length: 6 }, (_, n) => task('CreatePod', { workflow: `wf${n}` }))
  scene.platform.script.push(tasks)
  await until('six in hand', () => agent.status().tasks === 6)
  const closing = agent.close()
  // One poll may be in progress.
  const polls = scene.platform.polls.length
  held.open()
  await closing
  expect(scene.platform.polls.length - polls).toBeLessThanOrEqual(1)
  expect(tasks.map(({ _id }) => scene.platform.reportsOf(_id)[0]?.['status'])).toEqual(tasks.map(() => 'Success'))
})

test('accepts and reports the tasks of the poll that is in progress on close', async () => {
  await using scene = await openV1Scene()
  const agent = scene.agent()
  await agent.ready
  const held = gate()
  scene.platform.trouble = ({ path }) => (path.endsWith('/tasks') ? held.opened : undefined)
  const created = task('CreatePod')
  const polls = scene.platform.polls.length
  await until('a poll', () => scene.platform.polls.length > polls)
  scene.platform.script.push([created])
  const closing = agent.close()
  held.open()
  await closing
  expect(scene.platform.reportsOf(created._id)[0]).toMatchObject({ status: 'Success' })
})

test('lets one of two replicas poll; the other takes over at once after a close, or when the lease expires after a cut', async () => {
  await using scene = await openV1Scene()
  await using leases = await openFakeKube()
  const leaseMs = 60_000
  /** A replica on its own clock, which `look` advances by a fifth of the lease. */
  const replica = (holder: string): { agent: V1Agent; look(): Promise<void> } => {
    const clock = recordPauses(manualClock())
    const line = { kube: leases.kube(), namespace: 'runner', name: 'agent', log: silentLog, leaseMs }
    const leadership = openLeadership({ ...line, holder, clock })
    let turns = 0
    return {
      agent: scene.agent({ leadership, stateDir: `${scene.stateDir}/${holder}` }),
      async look() {
        await until(`${holder} waits`, () => clock.pauses.length > turns)
        turns = clock.pauses.length
        clock.advance(leaseMs / 5)
        await until(`${holder} has looked`, () => clock.pauses.length > turns)
      },
    }
  }
  const first = replica('a')
  await first.agent.ready
  const second = replica('b')
  let isSecondUp = false
  void second.agent.ready.then(() => (isSecondUp = true))
  await second.look()
  await second.look()
  expect(isSecondUp).toBe(false)
  expect(await second.agent.metrics()).toContain('windlass_agent_leader 0')
  // A standby replica is ready; otherwise a rolling update would wait forever.
  expect(second.agent.status().heardAt).toBeGreaterThan(0)
  await first.agent.close()
  await second.look()
  await second.agent.ready
  // The second replica loses its connection to the lease: it stops before a third one may start.
  leases.intercept = ({ method, body }) =>
    method === 'PATCH' && !JSON.stringify(body).includes('"holderIdentity":"c"') ? { status: 503 } : undefined
  const third = replica('c')
  const looks = async (n: number): Promise<void> => {
    for (let i = 0; i < n; i += 1) await Promise.all([second.look(), third.look()])
  }
  await looks(3)
  expect(await second.agent.metrics()).toContain('windlass_agent_leader 1')
  await looks(1)
  expect(await second.agent.metrics()).toContain('windlass_agent_leader 0')
  expect(await third.agent.metrics()).toContain('windlass_agent_leader 0')
  await third.look()
  await third.look()
  await third.agent.ready
  expect(await third.agent.metrics()).toContain('windlass_agent_leader 1')
})

test('polls without a lease if it has no right to use one', async () => {
  await using scene = await openV1Scene()
  await using leases = await openFakeKube()
  leases.intercept = () => ({ status: 403, reason: 'Forbidden' })
  const options = { kube: leases.kube(), namespace: 'runner', name: 'agent', holder: 'a', clock: systemClock, log: silentLog }
  await scene.agent({ leadership: openLeadership(options) }).ready
})

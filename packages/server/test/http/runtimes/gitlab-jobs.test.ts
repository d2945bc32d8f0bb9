/** Jobs of GitLab over HTTP: who may report and see them, and the reports of a manager whose server goes away. */
import { listAll } from '@windlass/client'
import { agentCalls } from '@windlass/client/agent'
import { gitlabCalls } from '@windlass/client/gitlab'
import { systemClock, nodeTransport, silentLog } from '@windlass/kit'
import { createClient, MAX_REPORTED_GITLAB_JOBS, STREAM_EVENTS, type GitlabReport, type StreamEvent } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { memoryFolder } from '../../../../../e2e/support/memory-folder.ts'
import { freePort } from '../../../../../e2e/support/process.ts'
import { startReporter, type Reporter } from '../../../../gitlab/src/control-plane/reporter.ts'
import { openJobViews, type JobViews, type NewView } from '../../../../gitlab/src/manager/views/job-view.ts'
import { startServer } from '../../../src/index.ts'
import { GITLAB, gitlabReport, openGitlabManager, reportedJob } from '../../support/fakes/gitlab-manager.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

test('only a key that can do nothing else reports jobs, and its reports are shown to who may see the installation (G104)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  const manager = await openGitlabManager(scene)
  expect(await manager.report([reportedJob(7), reportedJob(8, { state: 'failed', reason: 'script_failure' })])).toEqual({
    seq: 1,
  })
  const { items } = await admin.gitlabJobs.list()
  expect(items).toMatchObject([
    { number: 8, state: 'failed', reason: 'script_failure', manager: 'r_0123456789ab', host: 'manager-0' },
    { number: 7, state: 'running', pod: 'runner-7', namespace: 'jobs', url: `${GITLAB}/acme/shop/-/jobs/7` },
  ])
  expect(await admin.gitlabJobs.get(items[0]?.id ?? '')).toEqual(items[0])
  expect((await admin.gitlabJobs.managers()).items).toMatchObject([{ key: 'manager-r_0123456789ab', jobs: 1, concurrent: 10 }])
  await (await openGitlabManager(scene, 'r_other')).report([])
  const page = await admin.gitlabJobs.managers({ query: { limit: 1 } })
  expect([page.items.map(({ id }) => id), page.next]).toEqual([['r_0123456789ab'], 'r_0123456789ab'])
  const rest = await admin.gitlabJobs.managers({ query: { limit: 1, cursor: page.next } })
  expect([rest.items.map(({ id }) => id), rest.next]).toEqual([['r_other'], undefined])

  const own = nobody.withToken(manager.token)
  for (const call of [
    own.gitlabJobs.list(),
    own.gitlabJobs.managers(),
    own.builds.list(),
    own.agents.list(),
    own.contexts.list(),
    own.keys.list(),
    own.keys.create({ name: 'more', role: 'viewer' }),
  ])
    await expect(call).rejects.toMatchObject({ code: 'scope-missing' })
  const both = await admin.keys.create({ name: 'both', role: 'maintainer', scopes: ['gitlab-report:write', 'build:read'] })
  for (const token of [scene.adminToken, both.token])
    await expect(gitlabCalls(nobody.withToken(token)).report('r_1', gitlabReport(1, []))).rejects.toMatchObject({
      code: 'request-invalid',
      details: { hint: expect.stringContaining('--scope gitlab-report:write') },
    })
  const weak = await admin.keys.create({ name: 'weak', role: 'developer', scopes: ['gitlab-report:write'] })
  for (const token of [weak.token, scene.agentToken])
    await expect(gitlabCalls(nobody.withToken(token)).report('r_1', gitlabReport(1, []))).rejects.toMatchObject({
      code: 'forbidden',
    })
  expect((await admin.audit.list()).items.filter(({ action }) => action.includes('gitlab'))).toEqual([])
})

test('an agent passes on the reports of a manager, which are listed with its name, and a key cannot claim that (G107)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  const agent = agentCalls(nobody.withToken(scene.agentToken))
  expect(await agent.reportGitlabJobs('r_in_pod', gitlabReport(1, [reportedJob(7)]))).toEqual({ seq: 1 })
  const [{ name: agentName } = { name: '' }] = (await admin.agents.list()).items
  const [listed] = (await admin.gitlabJobs.managers()).items
  expect(listed).toMatchObject({ id: 'r_in_pod', agent: agentName, jobs: 1, status: 'online' })
  expect(listed).not.toHaveProperty('key')
  await expect(agent.reportGitlabJobs('-', gitlabReport(2, []))).rejects.toMatchObject({ code: 'request-invalid' })

  const { token } = await openGitlabManager(scene)
  const forged: GitlabReport & { agent: string } = { ...gitlabReport(1, []), agent: agentName }
  await gitlabCalls(nobody.withToken(token)).report('r_own_key', forged)
  const own = (await admin.gitlabJobs.managers()).items.find(({ id }) => id === 'r_own_key')
  expect(own).toMatchObject({ key: expect.stringContaining('manager-') })
  expect(own).not.toHaveProperty('agent')
  for (const wrong of [token, scene.adminToken])
    await expect(agentCalls(nobody.withToken(wrong)).reportGitlabJobs('r_1', gitlabReport(1, []))).rejects.toMatchObject({
      status: 403,
    })
})

test('a report with too many jobs, or with an address that a page must not open, is refused as a whole', async () => {
  await using scene = await openHttpScene()
  const manager = await openGitlabManager(scene)
  const many = Array.from({ length: MAX_REPORTED_GITLAB_JOBS + 1 }, (_, n) => reportedJob(n + 1))
  for (const jobs of [
    many,
    [reportedJob(1, { url: 'javascript:alert(1)' })],
    [reportedJob(1, { url: 'https://user:secret@gitlab.test/x' })],
    [reportedJob(1, { message: 'x'.repeat(1_001) })],
    [reportedJob(0)],
  ])
    await expect(manager.report(jobs)).rejects.toMatchObject({ code: 'request-invalid' })
  const calls = gitlabCalls(scene.nobody.withToken(manager.token))
  for (const id of ['-', 'a b', 'x'.repeat(65)])
    await expect(calls.report(id, gitlabReport(1, []))).rejects.toMatchObject({ code: 'request-invalid' })
  expect((await scene.admin.gitlabJobs.managers()).items).toEqual([])
})

test('the stream of a page has the changes and the number of jobs, and not for who has a role in a project only (G104)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  await admin.projects.create({ name: 'shop' })
  await admin.users.create({ name: 'guest', kind: 'service-account', role: 'none', projects: { shop: 'admin' } })
  const { token } = await admin.keys.create({ name: 'guest', role: 'admin', owner: 'guest' })
  const guest = nobody.withToken(token)
  await expect(guest.gitlabJobs.list()).rejects.toMatchObject({ code: 'forbidden' })
  const stop = new AbortController()
  const events = async (client: typeof admin, found: StreamEvent[]): Promise<void> => {
    for await (const { event, data, id } of client.server.stream({ query: { topic: ['account'] }, signal: stop.signal }))
      found.push({ event, id, data: STREAM_EVENTS[event as keyof typeof STREAM_EVENTS].parse(JSON.parse(data)) } as StreamEvent)
  }
  const [seen, hidden]: [StreamEvent[], StreamEvent[]] = [[], []]
  const streams = [events(admin, seen), events(guest, hidden)].map((stream) => stream.catch(() => undefined))
  const counts = (found: readonly StreamEvent[]) => found.flatMap(({ event, data }) => (event === 'counts' ? [data.counts] : []))
  await expect.poll(() => [counts(seen).length, counts(hidden).length]).toEqual([1, 1])
  expect(counts(seen)[0]).not.toHaveProperty('gitlabJobs')
  const manager = await openGitlabManager(scene)
  await manager.report([reportedJob(7)])
  await expect.poll(() => counts(seen).at(-1)).toMatchObject({ gitlabJobs: 1 })
  const states = (): unknown[] =>
    seen.flatMap(({ event, data }) =>
      event === 'changed' && data.change.noun === 'gitlab-job' ? [[data.change.item.number, data.change.item.state]] : [],
    )
  await expect.poll(states).toEqual([[7, 'running']])
  await manager.report([reportedJob(7)])
  await manager.report([reportedJob(7, { state: 'success' })])
  await expect.poll(() => counts(seen).at(-1)).toMatchObject({ gitlabJobs: 0 })
  await expect.poll(states).toEqual([
    [7, 'running'],
    [7, 'success'],
  ])
  expect(JSON.stringify(hidden)).not.toContain('gitlab')
  stop.abort()
  await Promise.all(streams)
})

const VIEW: NewView = {
  id: 7,
  gitlab: GITLAB,
  name: 'test',
  project: 'acme/shop',
  stage: 'test',
  ref: 'main',
  url: undefined,
  runner: 'shop',
  pod: '',
  namespace: '',
  state: 'waiting',
  why: 'Waiting until another job of this manager ends',
}

/** Starts to report the jobs of a manager, which the test sets. */
async function openReporter(scene: HttpScene): Promise<{ readonly views: JobViews; readonly reporter: Reporter }> {
  const { token } = await openGitlabManager(scene)
  const { url } = scene.server
  const views = openJobViews(() => systemClock.now())
  const state = () => ({
    isReady: true,
    isAsking: true,
    isLive: true,
    concurrent: 3,
    entries: [],
    jobs: views.list(),
    runners: [{ name: 'shop', gitlab: GITLAB }],
  })
  const reporter = startReporter({
    manager: { systemId: 'r_reporter', state, follow: views.follow },
    connect: () => createClient({ url, token, transport: nodeTransport() }),
    host: 'here',
    version: '1.2.3',
    clock: systemClock,
    log: silentLog,
  })
  return { views, reporter }
}

test('ends are told while more jobs are live at all times than a report has, and all live jobs are shown (G104)', async () => {
  await using scene = await openHttpScene()
  const { views, reporter } = await openReporter(scene)
  const live = MAX_REPORTED_GITLAB_JOBS + 20
  const run = (id: number): void => views.set({ ...VIEW, id, state: 'running', why: 'Running' })
  for (let id = 1; id <= live; id += 1) run(id)
  const count = async (): Promise<Record<'running' | 'failed', number>> => {
    const jobs = await listAll(({ query }) => scene.admin.gitlabJobs.list({ query }))
    const of = (wanted: string): number => jobs.filter(({ state }) => state === wanted).length
    return { running: of('running'), failed: of('failed') }
  }
  await expect.poll(count).toEqual({ running: live, failed: 0 })
  // As many are live as before.
  run(live + 1)
  views.remove({ id: 1, gitlab: GITLAB }, { state: 'failed', reason: 'script_failure' })
  await expect.poll(count).toEqual({ running: live, failed: 1 })
  for (let id = 2; id <= live; id += 1) views.remove({ id, gitlab: GITLAB }, { state: 'failed', reason: 'runner_interrupted' })
  await reporter.close()
  expect(await count()).toEqual({ running: 1, failed: live })
})

test('the first end of a job counts, also if its manager finds it again and GitLab refuses its second end (G104)', async () => {
  await using scene = await openHttpScene()
  const { views, reporter } = await openReporter(scene)
  const [job, other] = [7, 8].map((id): NewView => ({ ...VIEW, id, state: 'running', why: 'Running' }))
  if (job === undefined || other === undefined) throw new Error('two jobs are needed')
  const listed = async (): Promise<unknown[]> =>
    (await scene.admin.gitlabJobs.list()).items.map(({ number, state, reason }) => [number, state, reason])
  const end = { state: 'failed', reason: 'script_failure', message: 'Job failed: exit code 1' } as const
  // The second end comes before the first one was told, and after it.
  views.set(job)
  views.remove(job, end)
  views.set(job)
  views.remove(job, { state: 'canceled', reason: 'job_canceled' })
  await expect.poll(listed).toEqual([[7, 'failed', 'script_failure']])
  views.set(job)
  views.remove(job, { state: 'canceled', reason: 'job_canceled' })
  views.set(other)
  await expect.poll(listed).toEqual([
    [8, 'running', undefined],
    [7, 'failed', 'script_failure'],
  ])
  await reporter.close()
})

test('a manager whose server goes away reports what it has when the server is back, and jobs never wait for it (G104)', async () => {
  const dataDir = await memoryFolder('windlass-gitlab-')
  const port = await freePort()
  await using scene = await openHttpScene({ dataDir, port })
  const { views, reporter } = await openReporter(scene)
  const listed = async (): Promise<unknown[]> =>
    (await scene.admin.gitlabJobs.list()).items.map((job) => [job.number, job.state, job.reason])
  views.set(VIEW)
  await expect.poll(listed).toEqual([[7, 'waiting', undefined]])
  views.set({ ...VIEW, state: 'preparing', pod: 'pod-7', namespace: 'jobs', why: 'Waiting for the pod' })
  await expect.poll(listed).toEqual([[7, 'preparing', undefined]])
  await scene.server.close()
  views.set({ ...VIEW, state: 'running', pod: 'pod-7', namespace: 'jobs', why: 'Running' })
  views.set({ ...VIEW, id: 8, state: 'running', why: 'Running' })
  views.remove({ id: 8, gitlab: GITLAB }, { state: 'failed', reason: 'script_failure', message: 'Job failed: exit code 1' })
  await systemClock.sleep(500)
  const again = await startServer({ minFreeShare: 0, dataDir, port })
  try {
    await expect.poll(listed).toEqual([
      [8, 'failed', 'script_failure'],
      [7, 'running', undefined],
    ])
    views.remove({ id: 7, gitlab: GITLAB }, { state: 'success' })
    await reporter.close()
    expect(await listed()).toEqual([
      [8, 'failed', 'script_failure'],
      [7, 'success', undefined],
    ])
  } finally {
    await again.close()
  }
})

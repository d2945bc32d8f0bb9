/** The agent passes on the reports of a manager of GitLab runners in its pod, on a real server. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AGENT_ROUTES, agentCalls } from '@windlass/client/agent'
import { GITLAB_ROUTES, gitlabCalls, type GitlabCalls } from '@windlass/client/gitlab'
import { manualClock, nodeTransport, silentLog } from '@windlass/kit'
import { createClient } from '@windlass/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../e2e/support/process.ts'
import { gitlabReport, reportedJob } from '../../server/test/support/fakes/gitlab-manager.ts'
import { openHttpScene, type HttpScene } from '../../server/test/support/http-scene.ts'
import { serveReportRelay, type ReportRelay } from '../src/gitlab-reports/relay.ts'
import { startAgentProcess } from './support/agent-process.ts'

const MANAGER = 'r_in_the_pod'
const pathOf = (id: string): string => GITLAB_ROUTES.report.path.replace('{id}', id)

function serve({ server, agentToken }: HttpScene, clock = manualClock()): Promise<ReportRelay> {
  const client = createClient({ url: server.url, token: agentToken, transport: nodeTransport() })
  return serveReportRelay({ server: agentCalls(client), port: 0, clock, log: silentLog })
}

/** Returns the calls of a manager that has no key. */
function managerAt(port: number): GitlabCalls {
  return gitlabCalls(createClient({ url: `http://127.0.0.1:${port}`, transport: nodeTransport() }))
}

test('a manager without a key reports through the agent, which does nothing else (G107)', async () => {
  await using scene = await openHttpScene()
  await using relay = await serve(scene)
  const manager = managerAt(relay.port)
  expect(await manager.report(MANAGER, gitlabReport(1, [reportedJob(7)]))).toEqual({ seq: 1 })
  const { items } = await scene.admin.gitlabJobs.list()
  expect(items).toMatchObject([{ number: 7, state: 'running', manager: MANAGER }])
  expect((await scene.admin.gitlabJobs.managers()).items).toMatchObject([{ id: MANAGER, agent: expect.any(String) }])

  const url = `http://127.0.0.1:${relay.port}`
  const put = (path: string, body: string, method = 'PUT'): Promise<Response> =>
    fetch(`${url}${path}`, { method, ...(method === 'PUT' && { body }) })
  const report = JSON.stringify(gitlabReport(2, []))
  for (const [path, method] of [
    [AGENT_ROUTES.claim.path, 'PUT'],
    [pathOf('-'), 'PUT'],
    [pathOf(`${MANAGER}/x`), 'PUT'],
    [pathOf(`${MANAGER}?x`), 'PUT'],
    [pathOf('..%2fbuilds'), 'PUT'],
    [pathOf(MANAGER), 'GET'],
  ] as const)
    expect((await put(path, report, method)).status, path).toBe(404)
  for (const body of ['{', '{}', JSON.stringify({ ...gitlabReport(2, []), seq: 0 })]) {
    const answer = await put(pathOf(MANAGER), body)
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'request-invalid' }])
  }
  expect((await put(pathOf(MANAGER), 'x'.repeat(3 * 1_048_576)).catch(() => ({ status: 413 }))).status).toBe(413)
  expect(await manager.report(MANAGER, gitlabReport(3, []))).toEqual({ seq: 3 })
})

test('the manager learns that the server is away or refuses, and a check of the agent names it (G107)', async () => {
  await using scene = await openHttpScene()
  const clock = manualClock()
  await using relay = await serve(scene, clock)
  const manager = managerAt(relay.port)
  expect(relay.finding()).toMatchObject({ status: 'warn', message: expect.stringContaining('no manager has reported') })
  expect(relay.metrics()).toContain('windlass_agent_gitlab_reported_ago_seconds -1\n')
  await manager.report(MANAGER, gitlabReport(1, [reportedJob(7), reportedJob(8, { state: 'success' })]))
  expect(relay.finding()).toMatchObject({ status: 'pass', message: `${MANAGER} asks GitLab for jobs, and has 1 job` })
  clock.advance(20_000)
  expect(relay.metrics()).toContain('windlass_agent_gitlab_reported_ago_seconds 20\n')
  await scene.server.close()
  await expect(manager.report(MANAGER, gitlabReport(2, []))).rejects.toMatchObject({ code: 'server-unreachable' })
  expect(relay.finding()).toMatchObject({ status: 'warn', message: expect.stringContaining('did not take the last report') })
  clock.advance(90_000)
  expect(relay.finding()).toMatchObject({ status: 'warn', message: `${MANAGER} has not reported for 90 s` })
})

test('an agent that stops waits for the last report of its manager, and not for one that is silent (G107)', async () => {
  await using scene = await openHttpScene()
  const clock = manualClock()
  await using relay = await serve(scene, clock)
  const manager = managerAt(relay.port)
  await relay.drained()
  const drained = async (): Promise<boolean> => {
    const waiting = relay.drained().then(() => true)
    clock.advance(1_000)
    return Promise.race([waiting, new Promise<false>((resolve) => setTimeout(() => resolve(false), 50))])
  }
  await manager.report(MANAGER, gitlabReport(1, [reportedJob(7)]))
  expect(await drained()).toBe(false)
  await manager.report(MANAGER, gitlabReport(2, [reportedJob(7)], { isAsking: false }))
  expect(await drained()).toBe(false)
  await manager.report(MANAGER, gitlabReport(3, [reportedJob(7, { state: 'success' })], { isAsking: false }))
  expect(await drained()).toBe(true)
  await manager.report(MANAGER, gitlabReport(4, [reportedJob(8)], { isAsking: false }))
  expect(await drained()).toBe(false)
  clock.advance(75_000)
  expect(await drained()).toBe(true)
})

test('a report that another one has overtaken changes nothing (G107)', async () => {
  await using scene = await openHttpScene()
  const clock = manualClock()
  await using relay = await serve(scene, clock)
  const manager = managerAt(relay.port)
  await manager.report(MANAGER, gitlabReport(2, [reportedJob(7)]))
  await manager.report(MANAGER, gitlabReport(1, [], { isAsking: false }))
  expect(relay.finding().message).toBe(`${MANAGER} asks GitLab for jobs, and has 1 job`)
  // The numbers of another process begin again.
  await manager.report(MANAGER, gitlabReport(1, [], { instance: 'instance-2' }))
  expect(relay.finding().message).toBe(`${MANAGER} asks GitLab for jobs, and has 0 jobs`)
})

test('an agent that stops waits for the jobs that did not fit into a report (G107)', async () => {
  await using scene = await openHttpScene()
  await using relay = await serve(scene)
  const manager = managerAt(relay.port)
  const ended = reportedJob(7, { state: 'success' })
  await manager.report(MANAGER, gitlabReport(1, [ended], { isAsking: false, hasMore: true }))
  let isDrained = false
  const waiting = relay.drained().then(() => (isDrained = true))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(isDrained).toBe(false)
  await manager.report(MANAGER, gitlabReport(2, [ended], { isAsking: false }))
  void waiting
  await relay.drained()
})

test('an agent that stops alone does not wait for a manager that continues to ask for jobs (G107)', async () => {
  await using scene = await openHttpScene()
  const clock = manualClock()
  await using relay = await serve(scene, clock)
  const manager = managerAt(relay.port)
  await manager.report(MANAGER, gitlabReport(1, [reportedJob(7)]))
  let isDrained = false
  const waiting = relay.drained().then(() => (isDrained = true))
  clock.advance(60_000)
  await manager.report(MANAGER, gitlabReport(2, [reportedJob(7)]))
  expect(isDrained).toBe(false)
  clock.advance(16_000)
  await waiting
})

test('the process of an agent passes on reports after SIGTERM, until its manager has ended (G107)', async () => {
  await using scene = await openHttpScene()
  const folder = mkdtempSync(join(tmpdir(), 'agent-relay-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  // Its cluster does not answer, which only this agent minds.
  const config = {
    'current-context': 'own',
    contexts: [{ name: 'own', context: { cluster: 'own', user: 'own', namespace: 'builds' } }],
    clusters: [{ name: 'own', cluster: { server: 'http://127.0.0.1:9' } }],
    users: [{ name: 'own', user: { token: 'account' } }],
  }
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(config))
  const port = await freePort()
  await using agent = await startAgentProcess({
    WINDLASS_AGENT_SERVER_URL: scene.server.url,
    WINDLASS_AGENT_TOKEN: scene.agentToken,
    WINDLASS_AGENT_PROTOCOL: 'v2',
    WINDLASS_AGENT_KUBECONFIG: join(folder, 'kubeconfig'),
    WINDLASS_AGENT_STATE_DIR: join(folder, 'state'),
    WINDLASS_AGENT_GITLAB_REPORTS_PORT: String(port),
  })
  const manager = managerAt(port)
  const report = (seq: number, more: object = {}): Promise<unknown> =>
    manager.report(MANAGER, gitlabReport(seq, [reportedJob(7)], more))
  await expect.poll(() => report(1).catch((error: unknown) => String(error))).toEqual({ seq: 1 })
  agent.kill('SIGTERM')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(await report(2)).toEqual({ seq: 2 })
  await manager.report(MANAGER, gitlabReport(3, [reportedJob(7, { state: 'success' })], { isAsking: false }))
  expect(await agent.ended(), agent.log()).toBe(0)
  expect((await scene.admin.gitlabJobs.list()).items).toMatchObject([{ number: 7, state: 'success' }])
  expect(agent.log()).not.toContain(scene.agentToken)
})

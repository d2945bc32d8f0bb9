import { expect, onTestFinished, test } from 'vitest'
import { runnerNames } from '../entry.ts'
import type { ManagerState } from '../manager.ts'
import { serveManager } from './metrics.ts'

/** Returns status and text of an address of a manager in this state. */
async function answerOf(path: string, state: Partial<ManagerState> = {}): Promise<{ status: number; text: string }> {
  const whole: ManagerState = {
    isReady: true,
    isAsking: true,
    isLive: true,
    concurrent: 4,
    jobs: [],
    runners: [],
    entries: [],
    ...state,
  }
  const server = await serveManager({ state: () => whole }, { port: 0, version: '1.2.3' })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`)
  return { status: answer.status, text: await answer.text() }
}

test('the liveness of a manager is that of its loops, and its readiness whether it asks for jobs', async () => {
  expect(await answerOf('/health/live')).toEqual({ status: 200, text: 'ok\n' })
  expect(await answerOf('/health/live', { isLive: false })).toEqual({ status: 503, text: 'a loop of the manager is stuck\n' })
  expect(await answerOf('/health/live', { isReady: false })).toMatchObject({ status: 200 })
  expect(await answerOf('/health/ready', { isReady: false })).toEqual({
    status: 503,
    text: 'the manager does not ask for jobs\n',
  })
})

test('a manager with terminals counts those that are open', async () => {
  expect((await answerOf('/metrics', { terminals: 2 })).text).toContain('\nwindlass_gitlab_terminals 2\n')
  expect((await answerOf('/metrics')).text).not.toContain('terminals')
})

test('metrics of a runner have its name and the short form of its token, as those of the original', async () => {
  const names = runnerNames({ runner: { name: 'shop', token: 'glrt-AbCdEfGhIjKlMnOp', executor: 'kubernetes' } })
  const entry = { key: 'k', running: 0, requests: 2, requestLimit: 3, isPaused: true, ...names }
  const { text } = await answerOf('/metrics', { entries: [entry] })
  const labels = '{runner="AbCdEfGhI",runner_name="shop"}'
  expect(text).toContain(`gitlab_runner_request_concurrency${labels} 2\n`)
  expect(text).toContain(`gitlab_runner_request_concurrency_used_limit${labels} 3\n`)
  expect(text).toContain(`gitlab_runner_worker_health_check_failures${labels} 1\n`)
})

test('metrics and the list of jobs have the jobs of the manager', async () => {
  const job = {
    id: 7,
    gitlab: 'https://gitlab.test',
    name: 'build',
    project: 'acme/app',
    stage: 'test',
    ref: 'main',
    url: undefined,
    runner: 'shop',
    pod: 'p',
    namespace: 'jobs',
    why: 'Waiting',
    since: 0,
    receivedAt: 0,
    startedAt: undefined,
  }
  const jobs = [{ ...job, state: 'waiting' as const }]
  const { text } = await answerOf('/metrics', { jobs })
  expect(text).toContain('gitlab_runner_jobs{state="waiting"} 1')
  expect(text).toContain('gitlab_runner_concurrent 4')
  expect((await answerOf('/debug/jobs/list?x=1', { jobs })).text).toBe(
    'id=7 project=acme/app job=build state=waiting since=1970-01-01T00:00:00.000Z pod=jobs/p why="Waiting"\n',
  )
  expect(await answerOf('/other')).toMatchObject({ status: 404 })
})

/** Jobs of GitLab in the store: reports that repeat, come late or stop, and what is kept. */
import {
  GITLAB_SILENT_MS,
  GitlabJobQuery,
  PageQuery,
  type GitlabJob,
  type GitlabManager,
  type GitlabReport,
  type ReportedGitlabJob,
} from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import {
  countShownGitlabJobs,
  listGitlabJobPage,
  listGitlabManagerPage,
  showGitlabJob,
} from '../../../src/gitlab-jobs/show-jobs.ts'
import { takeGitlabReport } from '../../../src/gitlab-jobs/take-report.ts'
import { retain } from '../../../src/retention.ts'
import { GITLAB, gitlabReport, reportedJob } from '../../support/fakes/gitlab-manager.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DAY_MS = 86_400_000
const FIRST = 'r_first'

interface Sent {
  readonly seq: number
  readonly jobs: readonly ReportedGitlabJob[]
  readonly by?: string
  readonly more?: Partial<GitlabReport>
}

const send = (app: App, { seq, jobs, by = FIRST, more }: Sent) =>
  takeGitlabReport(app, {
    id: by,
    from: { key: 'key' },
    report: gitlabReport(seq, jobs, { instance: `process of ${by}`, ...more }),
  })

const list = async (app: App, query: object = {}): Promise<GitlabJob[]> =>
  (await listGitlabJobPage(app, GitlabJobQuery.parse(query))).items

const managers = async (app: App): Promise<GitlabManager[]> => (await listGitlabManagerPage(app, PageQuery.parse({}))).items

async function stateOf(app: App, number: number): Promise<Partial<GitlabJob>> {
  const found = (await list(app)).find((job) => job.number === number)
  if (found === undefined) throw new Error(`job ${number} is not listed`)
  return found
}

describe.each(DATABASES)('jobs of GitLab on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a report that repeats or comes late changes nothing, and a job that has ended stays as it ended (G104)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    expect(await send(app, { seq: 1, jobs: [reportedJob(1, { state: 'preparing' })] })).toEqual({ seq: 1 })
    clock.advance(5_000)
    await send(app, { seq: 3, jobs: [reportedJob(1)] })
    const running = await stateOf(app, 1)
    expect(running).toMatchObject({ state: 'running', since: clock.now(), createdAt: clock.now() - 5_000, manager: FIRST })
    clock.advance(5_000)
    expect(await send(app, { seq: 2, jobs: [reportedJob(1, { state: 'preparing' }), reportedJob(2)] })).toEqual({ seq: 3 })
    expect(await send(app, { seq: 3, jobs: [] })).toEqual({ seq: 3 })
    expect(await list(app)).toEqual([running])
    const ended = reportedJob(1, {
      state: 'failed',
      reason: 'script_failure',
      message: 'Job failed: exit code 1',
      endedAt: 9_000,
    })
    await send(app, { seq: 4, jobs: [ended] })
    expect(await stateOf(app, 1)).toMatchObject({ state: 'failed', reason: 'script_failure', endedAt: 9_000 })
    await send(app, { seq: 5, jobs: [reportedJob(1)], more: { instance: 'a late process' } })
    expect(await stateOf(app, 1)).toMatchObject({ state: 'failed', since: 9_000 })
  })

  test('a job whose manager is silent is unknown since its last report, and runs again with the next one (G104)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await send(app, { seq: 1, jobs: [reportedJob(1), reportedJob(2, { state: 'success', endedAt: 5_000 })] })
    const seenAt = clock.now()
    clock.advance(GITLAB_SILENT_MS)
    expect(await stateOf(app, 1)).toMatchObject({ state: 'running' })
    expect(await countShownGitlabJobs(app)).toBe(1)
    clock.advance(1)
    const silent = await stateOf(app, 1)
    expect(silent).toMatchObject({ state: 'unknown', lastState: 'running', since: seenAt })
    expect(silent.message).toBe(
      `The manager on manager-0 has not reported the job since ${new Date(seenAt).toISOString()}. It was running then. Check the manager, or open the job at GitLab.`,
    )
    expect(await stateOf(app, 2)).toMatchObject({ state: 'success' })
    expect((await list(app, { state: 'unknown' })).map(({ number }) => number)).toEqual([1])
    expect(await list(app, { state: 'running' })).toEqual([])
    expect(await managers(app)).toMatchObject([{ id: FIRST, status: 'offline', jobs: 0, key: 'key' }])
    expect(await countShownGitlabJobs(app)).toBe(0)
    await send(app, { seq: 2, jobs: [reportedJob(1)] })
    expect(await stateOf(app, 1)).toMatchObject({ state: 'running', since: seenAt })
    expect(await managers(app)).toMatchObject([{ status: 'online', jobs: 1, concurrent: 10, isAsking: true }])
  })

  test('the job of a manager that was replaced keeps its name, its start and its id', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await send(app, { seq: 1, jobs: [reportedJob(1, { startedAt: 7_000 })] })
    const { id } = await stateOf(app, 1)
    const { url: _url, ...unnamed } = reportedJob(1, { name: '', project: '', stage: '', ref: '', startedAt: 99_000 })
    await send(app, { seq: 1, jobs: [unnamed], by: 'r_second', more: { host: 'manager-1' } })
    await send(app, { seq: 2, jobs: [] })
    expect(await showGitlabJob(app, id ?? '')).toMatchObject({
      state: 'running',
      manager: 'r_second',
      host: 'manager-1',
      name: 'job-1',
      project: 'acme/shop',
      stage: 'test',
      ref: 'main',
      url: `${GITLAB}/acme/shop/-/jobs/1`,
      startedAt: 7_000,
    })
    await expect(showGitlabJob(app, 'f'.repeat(24))).rejects.toMatchObject({ code: 'not-found' })
  })

  test('lists by state, runner and project in pages, and tells the jobs of two GitLabs apart', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const jobs = [1, 2, 3, 4].map((number) =>
      reportedJob(number, { runner: number % 2 === 0 ? 'even' : 'odd', project: number > 2 ? 'acme/late' : 'acme/early' }),
    )
    await send(app, {
      seq: 1,
      jobs: [...jobs, reportedJob(1, { gitlab: 'https://other.test', runner: 'other', state: 'waiting' })],
    })
    expect((await list(app)).map(({ number, gitlab }) => [number, gitlab])).toEqual([
      [1, 'https://other.test'],
      ...[4, 3, 2, 1].map((number) => [number, GITLAB]),
    ])
    expect((await list(app, { runner: 'even', project: 'acme/late' })).map(({ number }) => number)).toEqual([4])
    expect((await list(app, { state: 'waiting' })).map(({ runner }) => runner)).toEqual(['other'])
    const first = await listGitlabJobPage(app, GitlabJobQuery.parse({ limit: 3 }))
    const second = await listGitlabJobPage(app, GitlabJobQuery.parse({ limit: 3, cursor: first.next }))
    expect([first.items.length, second.items.length, second.next]).toEqual([3, 2, undefined])
    await expect(listGitlabJobPage(app, GitlabJobQuery.parse({ cursor: 'x' }))).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('lists managers by their system IDs in pages, each with the number of its live jobs', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (const [n, by] of ['r_c', 's_a', 'r_a', 'r_b'].entries())
      await send(app, {
        seq: 1,
        by,
        jobs: [reportedJob(2 * n + 1), reportedJob(2 * n + 2, { state: n === 0 ? 'success' : 'running' })],
      })
    const first = await listGitlabManagerPage(app, PageQuery.parse({ limit: 3 }))
    expect(first.items.map(({ id, jobs }) => [id, jobs])).toEqual([
      ['r_a', 2],
      ['r_b', 2],
      ['r_c', 1],
    ])
    const second = await listGitlabManagerPage(app, PageQuery.parse({ limit: 3, cursor: first.next }))
    expect([second.items.map(({ id }) => id), second.next]).toEqual([['s_a'], undefined])
    await expect(listGitlabManagerPage(app, PageQuery.parse({ cursor: '-' }))).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('jobs and managers go some days after their last report', async () => {
    await using held = await openTestApp(database, { retention: { gitlabJobDays: 2 } })
    const { app, clock } = held
    await send(app, { seq: 1, jobs: [reportedJob(1, { state: 'success' }), reportedJob(2)] })
    clock.advance(2 * DAY_MS - 1)
    await send(app, { seq: 1, jobs: [reportedJob(3)], by: 'r_second' })
    await retain(app)
    expect((await list(app)).map(({ number }) => number)).toEqual([3, 2, 1])
    clock.advance(2)
    await retain(app)
    expect((await list(app)).map(({ number }) => number)).toEqual([3])
    expect((await managers(app)).map(({ id }) => id)).toEqual(['r_second'])
    clock.advance(2 * DAY_MS)
    await retain(app)
    expect([await list(app), await countShownGitlabJobs(app)]).toEqual([[], undefined])
  })

  test('the oldest jobs that have ended make room for new ones, and jobs that run stay', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const report = (from: number, state: ReportedGitlabJob['state']): ReportedGitlabJob[] =>
      Array.from({ length: 500 }, (_, n) => reportedJob(from + n, { state }))
    await send(app, { seq: 1, jobs: report(1, 'running') })
    for (let seq = 2; seq <= 21; seq += 1) await send(app, { seq, jobs: report((seq - 1) * 500 + 1, 'success') })
    const count = async (): Promise<number> => (await app.store.query.selectFrom('gitlab_job').select('id').execute()).length
    expect(await count()).toBe(10_000)
    const numbers = (await app.store.query.selectFrom('gitlab_job').select('number').orderBy('number').execute()).map(
      (row) => row.number,
    )
    expect(numbers.slice(0, 500)).toEqual(Array.from({ length: 500 }, (_, n) => n + 1))
    expect(numbers[500]).toBe(1_001)
  })
})

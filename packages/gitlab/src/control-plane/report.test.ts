import { GitlabReport, MAX_GITLAB_REPORT_BYTES, MAX_REPORTED_GITLAB_JOBS } from '@windlass/protocol'
import { expect, test } from 'vitest'
import type { EndedJob, JobView } from '../manager/views/job-view.ts'
import { buildReport, type ReportInput } from './report.ts'

function view(id: number, more: Partial<JobView> = {}): JobView {
  return {
    id,
    gitlab: 'https://gitlab.test',
    name: `job-${id}`,
    project: 'acme/shop',
    stage: 'test',
    ref: 'main',
    url: `https://gitlab.test/acme/shop/-/jobs/${id}`,
    runner: 'shop',
    pod: 'p',
    namespace: 'jobs',
    state: 'running',
    why: 'Running',
    since: 2_000,
    receivedAt: 1_000.5,
    startedAt: 2_000,
    ...more,
  }
}

const ended = (id: number, more: Partial<EndedJob> = {}): EndedJob => ({
  ...view(id),
  outcome: { state: 'failed', reason: 'script_failure', message: 'Job failed: exit code 1' },
  endedAt: 3_000,
  ...more,
})

function build(jobs: readonly JobView[], more: Partial<ReportInput> = {}): ReturnType<typeof buildReport> {
  const runners = [{ name: 'shop', gitlab: 'https://gitlab.test' }]
  const state = { jobs, runners, concurrent: 4, isAsking: true }
  const built = buildReport({ instance: 'instance-1', seq: 3, host: 'here', version: '1.2.3', state, ended: [], ...more })
  // What is built always has the shape and the limits of the server.
  expect(GitlabReport.parse(built.report)).toEqual(built.report)
  return built
}

test('has jobs that have ended first, and then live ones, each with its state', () => {
  const jobs = [
    view(1, { state: 'waiting', pod: '', namespace: '', startedAt: undefined }),
    view(2, { state: 'preparing' }),
    view(3),
  ]
  const { report, ended: told, isWhole } = build(jobs, { ended: [ended(4)] })
  expect(report).toMatchObject({ instance: 'instance-1', seq: 3, concurrent: 4, isAsking: true })
  expect(isWhole).toBe(true)
  expect(report.jobs.map(({ number, state }) => [number, state])).toEqual([
    [4, 'failed'],
    [1, 'waiting'],
    [2, 'preparing'],
    [3, 'running'],
  ])
  expect(report.jobs[1]).not.toHaveProperty('pod')
  expect(report.jobs[0]).toMatchObject({ reason: 'script_failure', message: 'Job failed: exit code 1', endedAt: 3_000 })
  expect(told.map(({ id }) => id)).toEqual([4])
})

test('tells the ends of jobs however many jobs are live, and all of these in turn', () => {
  const jobs = Array.from({ length: 2 * MAX_REPORTED_GITLAB_JOBS + 2 }, (_, n) => view(n + 1))
  const told = new Set<string>()
  const seen = new Set<number>()
  const reports = [1, 2, 3].map((seq) => {
    const built = build(jobs, { seq, told, ended: seq === 1 ? [ended(9_000), ended(9_001)] : [] })
    for (const key of built.live) told.add(key)
    for (const { number, state } of built.report.jobs) if (state === 'running') seen.add(number)
    return built
  })
  expect(reports[0]?.ended.map(({ id }) => id)).toEqual([9_000, 9_001])
  expect(reports.map(({ report }) => report.jobs.length)).toEqual([1, 2, 3].map(() => MAX_REPORTED_GITLAB_JOBS))
  expect(reports.map(({ isWhole }) => isWhole)).toEqual([false, false, true])
  expect(seen.size).toBe(jobs.length)
})

test('more ends than a report may have are told before any live job', () => {
  const many = Array.from({ length: MAX_REPORTED_GITLAB_JOBS + 1 }, (_, n) => ended(n + 1))
  const { report, ended: told, live, isWhole } = build([view(9_000)], { ended: many })
  expect(report.jobs.map(({ number }) => number)).toEqual(many.slice(0, -1).map(({ id }) => id))
  expect([told.length, live, isWhole]).toEqual([MAX_REPORTED_GITLAB_JOBS, [], false])
})

test('long texts are cut, and jobs that do not fit are left for the next report', () => {
  const long = '\u{1F600}'.repeat(5_000)
  const jobs = Array.from({ length: 400 }, (_, n) =>
    view(n + 1, { name: long, why: long, project: long, ref: long, runner: long }),
  )
  const { report, live, isWhole } = build(jobs)
  expect([report.jobs.length, isWhole]).toEqual([live.length, false])
  expect(live.length).toBeLessThan(400)
  expect([report.hasMore, build([view(1)], { ended: [ended(2)] }).report.hasMore]).toEqual([true, undefined])
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThan(MAX_GITLAB_REPORT_BYTES + 50_000)
  expect(report.jobs[0]?.name.endsWith('…')).toBe(true)
})

test('a runner whose URL is not valid is left out with its jobs', () => {
  const none = { gitlab: '' }
  const state = { jobs: [view(1, none)], runners: [{ name: 'shop', gitlab: '' }], concurrent: 1, isAsking: false }
  const { report, ended: told } = build([], { state, ended: [ended(2, none)] })
  expect(report).toMatchObject({ jobs: [], runners: [], isAsking: false })
  expect(told).toHaveLength(1)
})

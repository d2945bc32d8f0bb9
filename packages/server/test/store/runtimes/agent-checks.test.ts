/** Checks of agents: their request, their report, and the health of runtimes. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DoctorReport, JOBS_FEATURE, type AgentJob } from '@windlass/protocol'
import { putDoctorReport, requestChecks, showChecks } from '../../../src/agents/checks.ts'
import { takeJobReport } from '../../../src/agents/jobs.ts'
import type { App } from '../../../src/app.ts'
import { readRuntimeHealth } from '../../../src/health/read-health.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { callOfAgents, openScene, PROTOCOL, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const signal = new AbortController().signal
const NOW = { by: 'mira', signal: AbortSignal.abort() }
const FAILED = {
  check: 'rights',
  status: 'fail',
  message: 'Missing permission to create pods.',
  hint: 'Upgrade the chart.',
} as const

async function openChecks(app: App, features: string[] = [JOBS_FEATURE]): Promise<Scene> {
  const scene = await openScene(app)
  const instance = randomUUID()
  const { epoch } = await greetAgent(app, scene.agentId, { ...PROTOCOL, features, executor: 'fake', instance, attempts: [] })
  return { ...scene, epoch, instance }
}

async function jobsOf({ app, agentId, epoch }: Scene): Promise<readonly AgentJob[]> {
  return (await claim(app, agentId, { epoch, room: 10, waitMs: 0 }, signal)).jobs ?? []
}

async function codesOf(app: App): Promise<string[]> {
  const [health] = await readRuntimeHealth(app, await listShownRuntimes(app))
  return (health?.findings ?? []).map(({ code }) => code)
}

describe.each(DATABASES)('checks of agents on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('stores what the agent found, and a new check replaces it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    expect(await requestChecks(app, 'agent', NOW)).toMatchObject({ reports: [], request: { state: 'running', by: 'mira' } })
    await requestChecks(app, 'agent', NOW)
    const jobs = await jobsOf(scene)
    expect(jobs).toMatchObject([{ kind: 'check-agent', serverTime: clock.now(), runtimes: [{ name: 'local' }] }])
    const answer = async (job: AgentJob | undefined, findings: (typeof FAILED)[]): Promise<void> =>
      takeJobReport(app, scene.agentId, {
        epoch: scene.epoch,
        jobId: job?.id ?? '',
        revision: job?.revision ?? 0,
        result: { kind: 'check-agent', findings },
      })
    await answer(jobs[0], [FAILED])
    expect(await showChecks(app, 'agent')).toMatchObject({
      request: { state: 'done' },
      reports: [{ source: 'agent', by: 'mira', at: clock.now(), findings: [FAILED] }],
    })
    expect(await codesOf(app)).toContain('check-failed')
    clock.advance(1000)
    await requestChecks(app, 'agent', NOW)
    await answer((await jobsOf(scene))[0], [])
    expect(await showChecks(app, 'agent')).toMatchObject({ reports: [{ source: 'agent', at: clock.now(), findings: [] }] })
    expect(await codesOf(app)).not.toContain('check-failed')
  })

  test('stores the findings of doctor beside those of the agent, and forgets failures after a day', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openChecks(app)
    await putDoctorReport(app, 'agent', { findings: [FAILED], by: 'jo' })
    expect(await showChecks(app, 'agent')).toMatchObject({ reports: [{ source: 'doctor', by: 'jo', findings: [FAILED] }] })
    expect(await codesOf(app)).toContain('check-failed')
    clock.advance(25 * 3_600_000)
    await callOfAgents(app)
    expect(await codesOf(app)).not.toContain('check-failed')
    const { findings } = DoctorReport.parse({ findings: [{ ...FAILED, runtime: 'other' }] })
    await putDoctorReport(app, 'agent', { findings, by: 'jo' })
    expect(await codesOf(app)).not.toContain('check-failed')
  })

  test('refuses for an agent that is away, and one that takes no jobs', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openChecks(app, [])
    await expect(requestChecks(app, 'agent', NOW)).rejects.toMatchObject({ code: 'conflict' })
    clock.advance(10 * 60_000)
    await expect(requestChecks(app, 'agent', NOW)).rejects.toMatchObject({ code: 'agent-not-connected' })
  })

  test('gives up a check that fails twice, and one that nobody took', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openChecks(app)
    await requestChecks(app, 'agent', NOW)
    for (const message of ['first', 'second']) {
      const [job] = await jobsOf(scene)
      await takeJobReport(app, scene.agentId, { epoch: scene.epoch, jobId: job?.id ?? '', revision: job?.revision ?? 0, message })
      clock.advance(30_000)
      await callOfAgents(app)
    }
    expect(await showChecks(app, 'agent')).toMatchObject({ request: { state: 'failed', message: 'second' } })
    clock.advance(1000)
    await requestChecks(app, 'agent', NOW)
    clock.advance(6 * 60_000)
    await callOfAgents(app)
    expect(await showChecks(app, 'agent')).toMatchObject({ request: { state: 'failed' } })
    expect(await jobsOf(scene)).toEqual([])
  })
})

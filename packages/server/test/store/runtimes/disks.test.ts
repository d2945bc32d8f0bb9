/** Disks that agents report, and their removal, in the store. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  DISKS_FEATURE,
  DiskQuery,
  JOBS_FEATURE,
  MAX_REPORTED_DISKS,
  type AgentJob,
  type Disk,
  type DiskFacts,
  type DiskPage,
} from '@windlass/protocol'
import { createAgent } from '../../../src/agents/agents.ts'
import { takeJobReport } from '../../../src/agents/jobs.ts'
import type { App } from '../../../src/app.ts'
import { removeDisk } from '../../../src/disks/remove-disk.ts'
import { listDiskPage } from '../../../src/disks/show-disks.ts'
import { takeDiskReport } from '../../../src/disks/take-report.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { callOfAgents, openScene, PROTOCOL, runAttempt, submit, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const FEATURES = [JOBS_FEATURE, DISKS_FEATURE]
const signal = new AbortController().signal

function disk(name: string, more: Partial<DiskFacts> = {}): DiskFacts {
  return {
    uid: `uid-of-${name}`,
    name,
    state: 'warm',
    sizeBytes: 2 ** 30,
    storageClass: 'disks',
    uses: 1,
    runtime: 'local',
    ...more,
  }
}

/** Says hello as a new process. */
async function restart(scene: Scene): Promise<Scene> {
  const instance = randomUUID()
  const { epoch } = await greetAgent(scene.app, scene.agentId, {
    ...PROTOCOL,
    features: FEATURES,
    executor: 'kubernetes',
    instance,
    attempts: [],
  })
  return { ...scene, epoch, instance }
}

async function openDisks(app: App): Promise<Scene> {
  return restart(await openScene(app))
}

async function tellDisks({ app, agentId, epoch }: Scene, seq: number, disks: DiskFacts[], more: object = {}): Promise<void> {
  await takeDiskReport(app, agentId, { epoch, seq, disks, total: disks.length, failed: [], ...more })
}

async function list(app: App, query: object = {}): Promise<DiskPage> {
  return listDiskPage(app, DiskQuery.parse(query))
}
async function namesOf(app: App, query: object = {}): Promise<string[]> {
  return (await list(app, query)).items.map(({ name }) => name).toSorted()
}
async function show(app: App, name: string): Promise<Disk | undefined> {
  return (await list(app)).items.find((one) => one.name === name)
}

async function jobsOf({ app, agentId, epoch }: Scene): Promise<readonly AgentJob[]> {
  return (await claim(app, agentId, { epoch, room: 10, waitMs: 0 }, signal)).jobs ?? []
}

const byAdmin = { by: 'mira', signal: AbortSignal.abort() }

describe.each(DATABASES)('disks on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('lists use, last build and why a new disk was made, by runtime, pipeline and state (W080)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    const build = await submit(scene)
    const why = 'No disk fits: 1 in use.'
    await tellDisks(scene, 1, [
      disk('first', { buildId: build.id, pipelineId: 'p1', freeBytes: 2 ** 29, node: 'node-1', lastUsedAt: 5 }),
      disk('second', {
        state: 'in-use',
        since: 7,
        whyNew: why,
        runtime: 'other',
        selector: { 'codefresh-app': 'dind', 'io.codefresh.branch_name': 'main' },
      }),
    ])
    expect(await show(app, 'first')).toMatchObject({
      agent: 'agent',
      state: 'warm',
      since: 5,
      node: 'node-1',
      freeBytes: 2 ** 29,
      build: { id: build.id, number: build.number },
      reportedAt: app.clock.now(),
    })
    expect(await show(app, 'second')).toMatchObject({
      state: 'in-use',
      since: 7,
      whyNew: why,
      usableBy: 'builds on the branch main',
    })
    expect(await namesOf(app, { runtime: 'other' })).toEqual(['second'])
    expect(await namesOf(app, { pipeline: 'p1' })).toEqual(['first'])
    expect(await namesOf(app, { state: 'in-use' })).toEqual(['second'])
    expect((await list(app)).counts).toEqual({ warm: 1, 'in-use': 1 })
    const page = await list(app, { limit: 1 })
    expect(page.items).toHaveLength(1)
    expect((await list(app, { limit: 1, cursor: page.next })).items.map(({ name }) => name)).not.toEqual(
      page.items.map(({ name }) => name),
    )
  })

  test('a late report, and one of the process before a restart, change nothing', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const before = await openDisks(app)
    await tellDisks(before, 2, [disk('kept')])
    await tellDisks(before, 1, [disk('kept'), disk('removed')])
    expect(await namesOf(app)).toEqual(['kept'])
    const after = await restart(before)
    await expect(tellDisks(before, 3, [disk('kept'), disk('removed')])).rejects.toMatchObject({ code: 'agent-fenced' })
    await tellDisks(after, 1, [])
    expect(await namesOf(app)).toEqual([])
  })

  test('keeps the disks of a cluster that did not answer, and says so', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('here'), disk('there', { runtime: 'far' })])
    await tellDisks(scene, 2, [], { failed: [{ runtime: 'far', message: 'No answer.' }] })
    const page = await list(app)
    expect(page.items.map(({ name }) => name)).toEqual(['there'])
    expect(page.problems).toEqual([{ agent: 'agent', runtime: 'far', message: 'No answer.' }])
    await tellDisks(scene, 3, [disk('there', { runtime: 'far' })], { total: 5 })
    expect(await list(app)).toMatchObject({ problems: [], notReported: 4 })
  })

  test('an agent cannot fill the database with disks that come and go', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    const count = async (): Promise<number> => (await app.store.query.selectFrom('disk').select('id').execute()).length
    const many = (from: string, more: Partial<DiskFacts>): DiskFacts[] =>
      Array.from({ length: MAX_REPORTED_DISKS }, (_, index) => disk(`${from}-${index}`, more))
    const failed = [{ runtime: '', message: 'No answer.' }]
    for (const seq of [1, 2, 3, 4]) await tellDisks(scene, seq, many(`removed-${seq}`, { state: 'removing' }))
    expect(await count()).toBeLessThanOrEqual(3 * MAX_REPORTED_DISKS)
    for (const seq of [5, 6, 7, 8]) await tellDisks(scene, seq, many(`unread-${seq}`, {}), { failed })
    expect(await count()).toBeLessThanOrEqual(3 * MAX_REPORTED_DISKS)
    const long = Array.from({ length: 1000 }, (_, index) => ({ runtime: `r${index}`, message: 'x'.repeat(1000) }))
    await tellDisks(scene, 9, [], { failed: long })
    const stored = await app.store.query.selectFrom('agent').select('disks_failed').execute()
    expect(JSON.stringify(stored).length).toBeLessThan(100_000)
    expect((await list(app)).problems[0]).toMatchObject({ runtime: 'r0' })
  })

  test('finds a disk by its id although another one has this id as its name', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('wanted')])
    const id = (await show(app, 'wanted'))?.id ?? ''
    await tellDisks(scene, 2, [disk('wanted'), disk(id)])
    await removeDisk(app, id, byAdmin)
    expect(await jobsOf(scene)).toMatchObject([{ kind: 'remove-disk', name: 'wanted' }])
  })

  test('a connected agent keeps its disks, and the successor of a silent one gets them', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openDisks(app)
    const { id } = await createAgent(app, { name: 'other', runtimes: [] })
    const other = await restart({ ...scene, agentId: id })
    await tellDisks(scene, 1, [disk('shared')])
    await tellDisks(other, 1, [disk('shared')])
    expect(await list(app)).toMatchObject({ items: [{ agent: 'agent' }] })
    clock.advance(10 * 60_000)
    await greetAgent(app, id, { ...PROTOCOL, features: FEATURES, executor: 'kubernetes', instance: other.instance, attempts: [] })
    await tellDisks(other, 2, [disk('shared')])
    expect(await list(app)).toMatchObject({ items: [{ agent: 'other' }] })
  })

  test('refuses to remove a disk in use, naming its build (W080)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    const build = await submit(scene)
    await runAttempt(scene, build)
    await tellDisks(scene, 1, [disk('used', { state: 'in-use', buildId: build.id })])
    await expect(removeDisk(app, 'used', byAdmin)).rejects.toMatchObject({
      code: 'disk-in-use',
      message: `Build ${build.number} uses the disk used.`,
    })
    expect(await jobsOf(scene)).toEqual([])
  })

  test('lets the agent remove a disk, once for any number of calls, until a report confirms it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('old')])
    const id = (await show(app, 'old'))?.id ?? ''
    await removeDisk(app, id, byAdmin)
    await removeDisk(app, 'old', byAdmin)
    const jobs = await jobsOf(scene)
    expect(jobs).toMatchObject([{ kind: 'remove-disk', name: 'old', uid: 'uid-of-old', runtime: 'local', revision: 1 }])
    expect(await show(app, 'old')).toMatchObject({ state: 'removing', removal: { requestedBy: 'mira' } })
    const [job] = jobs
    const result = { kind: 'remove-disk', outcome: 'requested', message: 'The provisioner removes it.' } as const
    const report = { epoch: scene.epoch, jobId: job?.id ?? '', revision: 1, result }
    await takeJobReport(app, scene.agentId, { ...report, revision: 7 })
    expect(await show(app, 'old')).not.toHaveProperty('message')
    await takeJobReport(app, scene.agentId, report)
    await tellDisks(scene, 2, [disk('old')])
    expect(await show(app, 'old')).toMatchObject({ state: 'removing', message: 'The provisioner removes it.' })
    await tellDisks(scene, 3, [])
    expect(await namesOf(app)).toEqual([])
    expect(await removeDisk(app, id, byAdmin)).toMatchObject({ outcome: 'removed' })
    // Another agent of the same cluster has read its disks before.
    await tellDisks(scene, 4, [disk('old')])
    expect(await namesOf(app)).toEqual([])
  })

  test('a build that takes the disk first keeps it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    const build = await submit(scene)
    await tellDisks(scene, 1, [disk('busy')])
    await removeDisk(app, 'busy', byAdmin)
    const [job] = await jobsOf(scene)
    const result = { kind: 'remove-disk', outcome: 'in-use', buildId: build.id, message: 'A build uses the disk.' } as const
    await takeJobReport(app, scene.agentId, { epoch: scene.epoch, jobId: job?.id ?? '', revision: 1, result })
    const shown = await show(app, 'busy')
    expect(shown).toMatchObject({
      state: 'in-use',
      message: 'The removal was refused: A build uses the disk.',
      build: { number: build.number },
    })
    expect(shown).not.toHaveProperty('removal')
    await tellDisks(scene, 2, [disk('busy', { state: 'in-use', buildId: build.id })])
    expect(await show(app, 'busy')).toMatchObject({ message: 'The removal was refused: A build uses the disk.' })
    await tellDisks(scene, 3, [disk('busy')])
    expect(await show(app, 'busy')).not.toHaveProperty('message')
  })

  test('the successor of an agent carries out a removal that was requested from it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openDisks(app)
    const { id } = await createAgent(app, { name: 'other', runtimes: [] })
    const other = await restart({ ...scene, agentId: id })
    await tellDisks(scene, 1, [disk('shared')])
    await removeDisk(app, 'shared', byAdmin)
    clock.advance(10 * 60_000)
    await greetAgent(app, id, { ...PROTOCOL, features: FEATURES, executor: 'kubernetes', instance: other.instance, attempts: [] })
    await tellDisks(other, 1, [disk('shared')])
    expect(await list(app)).toMatchObject({ items: [{ agent: 'other', state: 'removing', removal: { requestedBy: 'mira' } }] })
    expect(await jobsOf(other)).toMatchObject([{ kind: 'remove-disk', name: 'shared', uid: 'uid-of-shared' }])
  })

  test('says why the agent could not remove a disk, and lets it try again', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('stuck')])
    await removeDisk(app, 'stuck', byAdmin)
    const [job] = await jobsOf(scene)
    const message = 'persistentvolumes is forbidden'
    await takeJobReport(app, scene.agentId, { epoch: scene.epoch, jobId: job?.id ?? '', revision: 1, message })
    expect(await show(app, 'stuck')).toMatchObject({
      state: 'removing',
      message: `The removal failed and is tried again: ${message}`,
    })
    expect(await jobsOf(scene)).toEqual([])
    clock.advance(60_000)
    await callOfAgents(app)
    expect(await jobsOf(scene)).toMatchObject([{ id: job?.id, revision: 2 }])
  })

  test('a disk of an agent that is away stays to be removed, with the reason', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('far')])
    clock.advance(10 * 60_000)
    const message = 'Agent "agent" is not connected. It removes the disk when it connects again.'
    expect(await removeDisk(app, 'far', { ...byAdmin, signal })).toEqual({ outcome: 'waiting', message })
    expect(await show(app, 'far')).toMatchObject({ state: 'removing', message })
    await callOfAgents(app)
    expect(await jobsOf(scene)).toHaveLength(1)
  })

  test('hands out no job to an agent that does not take them', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openDisks(app)
    await tellDisks(scene, 1, [disk('old')])
    await removeDisk(app, 'old', byAdmin)
    const instance = randomUUID()
    const { epoch } = await greetAgent(app, scene.agentId, { ...PROTOCOL, executor: 'kubernetes', instance, attempts: [] })
    const claimed = await claim(app, scene.agentId, { epoch, room: 10, waitMs: 0 }, signal)
    expect(claimed).toEqual({ tasks: [] })
  })
})

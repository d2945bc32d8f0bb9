/** The health of runtimes and of the server, read from the store. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RuntimeInput, type Health } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { readRuntimeHealth, readServerHealth } from '../../../src/health/read-health.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import { callOfAgents, openScene, report, runAttempt, startAttempt, submit, take, tell } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

async function healthOf(app: App, name = 'local'): Promise<Health | undefined> {
  const runtimes = (await listShownRuntimes(app)).filter((runtime) => runtime.name === name)
  return (await readRuntimeHealth(app, runtimes))[0]
}

/** The agent of the tests has the version 0. */
async function codesOf(app: App): Promise<string[]> {
  return ((await healthOf(app))?.findings ?? []).map(({ code }) => code)
}

describe.each(DATABASES)('health on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('tells a full runtime and a silent agent apart', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { capacity: 1 })
    await runAttempt(scene, await submit(scene))
    await submit(scene)
    await elect(app)
    clock.advance(6 * 60_000)
    await callOfAgents(app)
    expect(await healthOf(app)).toMatchObject({
      level: 'warning',
      sentence: 'Full for 6 min: 1 of 1 builds run, 1 wait.',
      findings: [{ code: 'runtime-full' }, { code: 'versions-differ' }],
    })
    clock.advance(3 * 60_000)
    expect(await healthOf(app)).toMatchObject({
      level: 'error',
      sentence: 'Agent "agent" has been silent for 3 min. 1 build waits.',
      findings: [{ code: 'agent-offline' }, { code: 'runtime-full' }, { code: 'versions-differ' }],
    })
    expect(await readServerHealth(app, await listShownRuntimes(app))).toMatchObject({
      level: 'error',
      sentence: 'Runtime "local": Agent "agent" has been silent for 3 min. 1 build waits.',
    })
  })

  test('repeats the words of the cluster about pods that do not start, until they start', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { buildId, attempt } = await startAttempt(scene, await submit(scene))
    const pod = { buildId, attempt }
    await tell(scene, { ...pod, state: 'waiting', reason: 'unschedulable', message: '3 Insufficient cpu.' })
    expect(await healthOf(app)).toMatchObject({ sentence: 'Pods find no node (1 build): 3 Insufficient cpu.' })
    await tell(scene, { ...pod, state: 'running' })
    expect(await codesOf(app)).toEqual(['versions-differ'])
  })

  test('shows a rejected object until an attempt starts on the runtime', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    await submit(scene)
    await elect(app)
    for (const task of await take(scene))
      await report(scene, task, 'refused', { reason: 'policy-refused', message: 'The image is not allowed.' })
    expect(await healthOf(app)).toMatchObject({
      level: 'error',
      sentence: 'The agent refuses objects of builds (1 build): The image is not allowed.',
    })
    clock.advance(1000)
    await runAttempt(scene, await submit(scene))
    expect(await codesOf(app)).toEqual(['versions-differ'])
  })

  test('names an agent that was deleted, and a runtime that no agent serves', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    for (const agent of ['nobody', undefined])
      await putRuntime(app, { input: RuntimeInput.parse({ name: 'other', type: 'fake', agent }), changedBy: 'tester' })
    expect(await healthOf(app, 'other')).toMatchObject({ findings: [{ code: 'agent-missing' }] })
    await putRuntime(app, { input: RuntimeInput.parse({ name: 'other', type: 'fake', agent: 'nobody' }), changedBy: 'tester' })
    expect(await healthOf(app, 'other')).toMatchObject({ findings: [{ code: 'agent-deleted' }] })
  })
})

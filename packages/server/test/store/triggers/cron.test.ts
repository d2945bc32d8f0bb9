/** Cron triggers: one build for each time, also with two servers, and one for all the times that passed while none ran. */
import { CronTriggerInput, PipelineInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { putPipeline, removePipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import {
  createCronTrigger,
  getCronTrigger,
  putCronTrigger,
  removeCronTrigger,
  showCronTrigger,
} from '../../../src/triggers/cron/cron-triggers.ts'
import { fireDue } from '../../../src/triggers/cron/fire.ts'
import { addPipeline, addTrigger } from '../../support/forge-scene.ts'
import { HELLO } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const HOUR_MS = 3_600_000
/** On the hour. */
const START = Date.parse('2027-01-04T06:00:00Z')

async function addCron(app: App, more: object = {}): Promise<Awaited<ReturnType<typeof createCronTrigger>>> {
  const input = { pipeline: 'a/app', name: 'hourly', message: 'every hour', expression: '0 * * * *', ...more }
  return createCronTrigger(app, { input: CronTriggerInput.parse(input) })
}

async function buildsOf({ store }: App): Promise<BuildRow[]> {
  return store.query.selectFrom('build').selectAll().orderBy('number').execute()
}

const show = async (app: App, name = 'a/app#hourly'): Promise<ReturnType<typeof showCronTrigger>> =>
  showCronTrigger(await getCronTrigger(app.store.query, app.accountId, name))

describe.each(DATABASES)('cron triggers on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('starts one build for each time, with its message and time as variables (P148)', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    await addPipeline(app, 'a/app', { variables: [{ key: 'A', value: 'pipeline', encrypted: false }] })
    const variables = [{ key: 'A', value: 'cron' }]
    expect(await addCron(app, { variables, priority: 3 })).toMatchObject({ nextAt: START + HOUR_MS, timezone: 'UTC' })
    await fireDue(app)
    expect(await buildsOf(app)).toEqual([])
    for (let hour = 1; hour <= 3; hour += 1) {
      clock.advance(HOUR_MS)
      await fireDue(app)
      await fireDue(app)
      expect(await buildsOf(app)).toHaveLength(hour)
    }
    const [build] = await buildsOf(app)
    expect(build).toMatchObject({ trigger: 'cron', trigger_name: 'hourly', initiator: 'cron', priority: 3 })
    const { plan } = await app.store.query
      .selectFrom('build_plan')
      .select('plan')
      .where('build_id', '=', build?.id ?? '')
      .executeTakeFirstOrThrow()
    const layers = (JSON.parse(plan ?? '') as { variables: { level: string; variables: object }[] }).variables
    expect(layers.find(({ level }) => level === 'trigger')?.variables).toEqual({
      EVENT_MESSAGE: { value: 'every hour' },
      EVENT_TIMESTAMP: { value: '2027-01-04T07:00:00.000Z' },
      A: { value: 'cron' },
    })
    expect(await show(app)).toMatchObject({ firedAt: START + 3 * HOUR_MS, nextAt: START + 4 * HOUR_MS })
  })

  test('the times that passed while no server ran are one build', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    await addPipeline(app, 'a/app')
    await addCron(app)
    clock.advance(100.5 * HOUR_MS)
    await fireDue(app)
    await fireDue(app)
    expect(await buildsOf(app)).toHaveLength(1)
    expect(await show(app)).toMatchObject({ nextAt: START + 101 * HOUR_MS })
  })

  test('a build gets the variables of the repository of a Git trigger, and the branch of the cron trigger (P149)', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', { name: 'push', repo: 'acme/team/app' })
    await expect(addCron(app, { gitTrigger: 'push' })).rejects.toMatchObject({ code: 'request-invalid' })
    await addCron(app, { gitTrigger: 'push', branch: 'main' })
    clock.advance(HOUR_MS)
    await fireDue(app)
    const [build] = await buildsOf(app)
    expect(build).toMatchObject({ branch: 'main' })
    const stored = await app.store.query.selectFrom('build_plan').select(['request', 'plan']).executeTakeFirstOrThrow()
    expect(JSON.parse(stored.request)).toMatchObject({ git: { repoOwner: 'acme/team', repoName: 'app' } })
    const { variables } = JSON.parse(stored.plan ?? '') as { variables: { level: string; variables: object }[] }
    expect(variables.find(({ level }) => level === 'system')?.variables).toMatchObject({
      CF_REPO_OWNER: { value: 'acme/team' },
      CF_REPO_NAME: { value: 'app' },
      CF_BRANCH: { value: 'main' },
      CF_BUILD_TRIGGER: { value: expect.any(String) },
    })
  })

  test('a build that is refused is noted, and the next time is tried again', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    await addPipeline(app, 'a/app', { runtime: 'gone' })
    await addPipeline(app, 'a/other')
    await addCron(app)
    await addCron(app, { pipeline: 'a/other', name: 'other' })
    clock.advance(HOUR_MS)
    await fireDue(app)
    expect((await buildsOf(app)).map(({ pipeline }) => pipeline)).toEqual(['a/other'])
    expect(await show(app)).toMatchObject({
      problem: expect.stringContaining('"gone" does not exist'),
      nextAt: START + 2 * HOUR_MS,
    })
    await addPipeline(app, 'a/app')
    clock.advance(HOUR_MS)
    await fireDue(app)
    expect(await buildsOf(app)).toHaveLength(3)
    expect((await show(app)).problem).toBeUndefined()
  })

  test('the cron triggers of a document change and go with it, and storing it skips no build', async () => {
    await using held = await openTestApp(database, { startAt: START })
    const { app, clock } = held
    const put = (triggers: string): Promise<unknown> =>
      putPipeline(app, {
        input: PipelineInput.parse({
          name: 'a/app',
          document: `kind: pipeline\nversion: '1.0'\nmetadata: {name: a/app}\nspec:\n  triggers: [{id: 5f, name: push, repo: a/b, events: [push]}]\n  cronTriggers: ${triggers}\n${HELLO.replace(/^version.*\n/, '').replace(/^/gm, '  ')}`,
        }),
        precondition: {},
      })
    const hourly = "{name: hourly, type: cron, message: hello, expression: '0 * * * *', gitTriggerId: 5f, branch: main}"
    await put(`[${hourly}, {name: broken, message: hello, expression: '99 * * * *'}]`)
    const { id, gitTrigger } = await show(app)
    expect(gitTrigger).toBe('push')
    await expect(show(app, 'a/app#broken')).rejects.toMatchObject({ code: 'not-found' })
    await expect(removeCronTrigger(app, id)).rejects.toMatchObject({ code: 'conflict' })
    clock.advance(HOUR_MS)
    await put(`[${hourly}]`)
    await fireDue(app)
    expect(await buildsOf(app)).toHaveLength(1)
    await put('[]')
    await expect(show(app)).rejects.toMatchObject({ code: 'not-found' })
    const own = await addCron(app)
    const { id: _id, origin: _origin, createdAt: _made, updatedAt: _changed, nextAt: _next, ...input } = own
    expect((await putCronTrigger(app, own.id, { input: { ...input, disabled: true } })).nextAt).toBeUndefined()
    clock.advance(HOUR_MS)
    await fireDue(app)
    expect(await buildsOf(app)).toHaveLength(1)
    await removePipeline(app, 'a/app')
    expect(await app.store.query.selectFrom('cron_trigger').selectAll().execute()).toEqual([])
  })
})

describe('two servers on one PostgreSQL', () => {
  let database: Database
  beforeAll(async () => {
    database = await DATABASES[1].open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('start one build for each time', async () => {
    const at = await database.fresh()
    await using first = await openTestApp(database, { ...at, startAt: START })
    await using second = await openTestApp(database, { ...at, startAt: START })
    await addPipeline(first.app, 'a/app')
    await addCron(first.app)
    for (let hour = 1; hour <= 20; hour += 1) {
      for (const { clock } of [first, second]) clock.advance(HOUR_MS)
      await Promise.all([fireDue(first.app), fireDue(second.app), fireDue(first.app)])
      expect(await buildsOf(first.app)).toHaveLength(hour)
    }
  })
})

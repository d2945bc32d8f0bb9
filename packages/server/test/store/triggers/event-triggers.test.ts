/** Triggers for images, charts and ended builds. */
import { AccountSettings, EventTriggerInput, PipelineInput, type Registry, type WebhookCreated } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAccountSettings } from '../../../src/account/settings.ts'
import type { App } from '../../../src/app.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { decideApproval } from '../../../src/builds/lifecycle/approve.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { openApp } from '../../../src/open-app.ts'
import { putPipeline, removePipeline } from '../../../src/pipelines/pipelines.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { listDeliveryPage, replayDelivery, showDelivery } from '../../../src/triggers/deliveries/deliveries.ts'
import {
  createEventTrigger,
  listEventTriggerPage,
  putEventTrigger,
  removeEventTrigger,
} from '../../../src/triggers/events/event-triggers.ts'
import { MAX_DEPTH } from '../../../src/triggers/events/judge-event.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { receiveDelivery } from '../../../src/triggers/deliveries/receive.ts'
import { tryEvent } from '../../../src/triggers/try-event.ts'
import { createWebhook } from '../../../src/triggers/webhooks.ts'
import { addPipeline } from '../../support/forge-scene.ts'
import { CHART_PUSHES, IMAGE_PUSHES } from '../../support/payloads/registry-payloads.ts'
import {
  ended,
  HELLO,
  openScene,
  PROTOCOL,
  runAttempt,
  say,
  type Scene,
  show,
  startAttempt,
  started,
  submit,
} from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

async function buildsOf({ store }: App, pipeline?: string): Promise<BuildRow[]> {
  const rows = await store.query.selectFrom('build').selectAll().orderBy('number').execute()
  return pipeline === undefined ? rows : rows.filter((row) => row.pipeline === pipeline)
}

async function add(app: App, more: object): Promise<Awaited<ReturnType<typeof createEventTrigger>>> {
  return createEventTrigger(app, { input: EventTriggerInput.parse({ pipeline: 'a/app', name: 'event', ...more }) })
}

async function addRegistry(app: App, registry: Registry, more: object = {}): Promise<WebhookCreated> {
  return createWebhook(app, { name: registry, registry, ...more })
}

async function call(app: App, webhook: WebhookCreated, body: unknown): Promise<{ id: string; isRepeat: boolean }> {
  const headers = { 'x-windlass-token': webhook.secret, 'x-jfrog-event-auth': webhook.secret }
  const received = await receiveDelivery(app, { webhook: webhook.id, headers, body: Buffer.from(JSON.stringify(body)) })
  await processDeliveries(app)
  return received
}

/** Runs a build of a pipeline to its end. */
async function finish(
  scene: Scene,
  pipeline: string,
  status: 'success' | 'error' | 'terminated',
  more: object = {},
): Promise<BuildRow> {
  const build = await submit(scene, { document: undefined, pipeline, ...more })
  return end(scene, build, status)
}

async function end(scene: Scene, build: BuildRow, status: 'success' | 'error' | 'terminated'): Promise<BuildRow> {
  const key = await runAttempt(scene, build)
  await say(scene.app, key, started, ended(status, status === 'error' ? { reason: 'step-failed' } : {}))
  await processDeliveries(scene.app)
  return build
}

describe.each(DATABASES)('event triggers on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a push of an image builds, with the variables of the event and its body on the volume (P150)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await addPipeline(app, 'a/app')
    await add(app, { type: 'registry', image: 'Team/App', tag: '1.*', variables: [{ key: 'EVENT_PUSHER', value: 'mine' }] })
    const webhook = await addRegistry(app, 'dockerhub')
    const body = IMAGE_PUSHES.dockerhub
    const { id } = await call(app, webhook, body)
    const [build, ...more] = await buildsOf(app)
    expect(more).toEqual([])
    expect(build).toMatchObject({ pipeline: 'a/app', trigger: 'registry', trigger_name: 'event', initiator: 'ann' })
    expect(await showDelivery(app, id)).toMatchObject({
      registry: 'dockerhub',
      repo: 'team/app',
      branch: '1.2.3',
      builds: [build?.id],
      triggers: [{ rules: [{ rule: 'disabled' }, { rule: 'tag', text: '"1.2.3" matches 1.*.' }] }],
    })
    const { buildId, attempt } = await startAttempt(scene, build as BuildRow)
    const claimed = await claimAttempt(app, { buildId, attempt }, { ...PROTOCOL, claimKey: 'the key of an engine' })
    expect(claimed.files).toEqual({ 'event.json': JSON.stringify(body) })
    const variables = claimed.plan.variables.find(({ level }) => level === 'trigger')?.variables
    const value = (text: string): object => ({ value: text })
    expect(variables).toEqual({
      EVENT_NAMESPACE: value('team'),
      EVENT_NAME: value('app'),
      EVENT_TAG: value('1.2.3'),
      EVENT_PUSHER: value('mine'),
      EVENT_PUSHED_AT: value('2026-01-02T03:04:05.000Z'),
      EVENT_PAYLOAD: value(JSON.stringify(body)),
    })
  })

  test('filters images by name and tag, and charts by name and version (P150)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addRegistry(app, 'generic')
    const triggers = {
      any: { type: 'registry', image: 'team/app' },
      release: { type: 'registry', image: 'team/app', tag: '/^v?\\d+\\.\\d+\\.\\d+$/' },
      latest: { type: 'registry', image: 'team/app', tag: 'latest' },
      other: { type: 'registry', image: 'team/other' },
      chart: { type: 'helm', chart: 'app', version: '!*-rc.*' },
      foreign: { type: 'registry', image: 'team/app', webhook: 'another' },
      off: { type: 'registry', image: 'team/app', disabled: true },
    }
    for (const [name, trigger] of Object.entries(triggers)) {
      await addPipeline(app, `a/${name}`)
      await add(app, { pipeline: `a/${name}`, ...trigger })
    }
    const built = async (body: object): Promise<string[]> => {
      const { triggers: verdicts = [] } = await showDelivery(app, (await call(app, webhook, body)).id)
      return verdicts.filter(({ buildId }) => buildId !== undefined).map(({ pipeline }) => pipeline)
    }
    expect(await built({ image: 'team/app', tag: 'v1.2.3' })).toEqual(['a/any', 'a/release'])
    expect(await built({ image: 'team/app', tag: 'latest' })).toEqual(['a/any', 'a/latest'])
    expect(await built({ chart: 'app', version: '1.2.3' })).toEqual(['a/chart'])
    expect(await built({ chart: 'app', version: '1.2.3-rc.1' })).toEqual([])
    expect(await built({ image: 'app', tag: 'latest' })).toEqual([])
    const body = JSON.stringify({ image: 'team/app', tag: 'latest' })
    const tested = await tryEvent(app, { registry: 'generic', body, pipeline: 'a/release' })
    expect(tested).toMatchObject({ repo: 'team/app', branch: 'latest', triggers: [{ pipeline: 'a/release', reason: 'tag' }] })
    expect(await tryEvent(app, { registry: 'generic', body: '{}' })).toMatchObject({ reason: 'payload-invalid', triggers: [] })
  })

  test('a repeated call, and the same push from another webhook, build nothing more, and a replay does', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await addPipeline(app, 'a/app')
    await add(app, { type: 'registry', image: 'team/app' })
    const [one, two] = [await addRegistry(app, 'acr'), await addRegistry(app, 'acr', { name: 'two' })]
    const first = await call(app, one, IMAGE_PUSHES.acr)
    expect(await call(app, one, IMAGE_PUSHES.acr)).toEqual({ id: first.id, isRepeat: true })
    const other = await call(app, two, IMAGE_PUSHES.acr)
    expect(await showDelivery(app, other.id)).toMatchObject({ builds: [], reason: 'already-built' })
    expect(await buildsOf(app)).toHaveLength(1)
    clock.advance(1)
    await replayDelivery(app, { id: first.id })
    await processDeliveries(app)
    expect(await buildsOf(app)).toHaveLength(2)
    // Docker Hub gives no id, but the time of each push.
    const hub = await addRegistry(app, 'dockerhub')
    await call(app, hub, IMAGE_PUSHES.dockerhub)
    await call(app, hub, { ...IMAGE_PUSHES.dockerhub, push_data: { pushed_at: 1_767_323_999, pusher: 'ann', tag: '1.2.3' } })
    expect(await buildsOf(app)).toHaveLength(4)
    // Quay gives neither, so each call is a push.
    const quay = await addRegistry(app, 'quay')
    for (let n = 0; n < 2; n += 1) await call(app, quay, IMAGE_PUSHES.quay)
    expect(await buildsOf(app)).toHaveLength(6)
  })

  test('a registry is refused without the secret, and a webhook for one image refuses others', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    await add(app, { type: 'registry', image: 'team/app' })
    const webhook = await addRegistry(app, 'dockerhub', { repo: 'team/other' })
    const body = Buffer.from(JSON.stringify(IMAGE_PUSHES.dockerhub))
    for (const token of [undefined, '', 'wrong', webhook.secret.slice(1)])
      await expect(receiveDelivery(app, { webhook: webhook.id, headers: {}, body, token })).rejects.toMatchObject({
        code: 'signature-wrong',
      })
    await receiveDelivery(app, { webhook: webhook.id, headers: {}, body, token: webhook.secret })
    await processDeliveries(app)
    const { items } = await listDeliveryPage(app, { limit: 10 })
    expect(items.map(({ reason }) => reason ?? '').toSorted()).toEqual(['repository-refused', 'signature-wrong'])
    const stored = await app.store.query.selectFrom('delivery').selectAll().execute()
    expect(JSON.stringify(stored)).not.toContain(webhook.secret)
    expect(await buildsOf(app)).toEqual([])
  })

  test('charts of each registry start builds (P150)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    await add(app, { type: 'helm', chart: 'app', version: '/^1\\./' })
    let count = 0
    for (const [registry, body] of Object.entries(CHART_PUSHES)) {
      await call(app, await addRegistry(app, registry as Registry), body)
      count += 1
      expect(await buildsOf(app), registry).toHaveLength(count)
    }
  })

  test('triggers of a document change and go with it, and those that cannot start a build are refused', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const put = async (triggers: string): Promise<void> => {
      const steps = HELLO.replace(/^version.*\n/, '').replace(/^/gm, '  ')
      const document = `kind: pipeline\nversion: '1.0'\nmetadata: {name: a/app}\nspec:\n  triggers: ${triggers}\n${steps}`
      await putPipeline(app, { input: PipelineInput.parse({ name: 'a/app', document }), precondition: {} })
    }
    const list = async (): Promise<unknown[]> =>
      (await listEventTriggerPage(app, { pipeline: 'a/app', after: undefined, limit: 50 }))
        .map(({ name, type, origin }) => `${name} ${type} ${origin}`)
        .toSorted()
    await put(
      '[{name: base, type: registry, image: team/base}, {name: chart, type: helm, chart: app}, {name: push, type: git, repo: a/b, events: [push]}, {name: self, type: build, source: a/app}, {name: bad, type: registry, image: x, tag: "/(/"}]',
    )
    const mine = await add(app, { name: 'mine', type: 'build', source: 'a/other' })
    expect(await list()).toEqual(['base registry document', 'chart helm document', 'mine build api'])
    await expect(removeEventTrigger(app, 'a/app#base')).rejects.toMatchObject({ code: 'conflict' })
    await expect(add(app, { name: 'self', type: 'build', source: 'a/app' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(add(app, { name: 'bad', type: 'registry', image: 'x', tag: '/(/' })).rejects.toMatchObject({
      code: 'request-invalid',
    })
    await expect(add(app, { name: 'mine', type: 'helm', chart: 'x' })).rejects.toMatchObject({ code: 'conflict' })
    const changed = EventTriggerInput.parse({
      pipeline: 'a/app',
      name: 'mine',
      type: 'build',
      source: 'a/third',
      statuses: ['error'],
    })
    expect(await putEventTrigger(app, mine.id, { input: changed })).toMatchObject({ id: mine.id, source: 'a/third' })
    await put('[]')
    expect(await list()).toEqual(['mine build api'])
    await removePipeline(app, 'a/app')
    expect(await app.store.query.selectFrom('event_trigger').selectAll().execute()).toEqual([])
  })

  test('the end of a build starts others by its status and branch, once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['a/app', 'a/deploy', 'a/alarm', 'a/main']) await addPipeline(app, name)
    await add(app, { pipeline: 'a/deploy', type: 'build', source: 'a/app' })
    await add(app, { pipeline: 'a/alarm', type: 'build', source: 'a/app', statuses: ['error', 'terminated'] })
    await add(app, { pipeline: 'a/main', type: 'build', source: 'a/app', branchRegex: 'main' })
    const first = await finish(scene, 'a/app', 'success', { branch: 'dev' })
    const [child, ...others] = (await buildsOf(app)).filter(({ trigger }) => trigger === 'completion')
    expect(others).toEqual([])
    expect(child).toMatchObject({
      pipeline: 'a/deploy',
      parent_id: first.id,
      depth: 1,
      initiator: 'tester',
      trigger_name: 'event',
    })
    const { plan } = await app.store.query
      .selectFrom('build_plan')
      .select('plan')
      .where('build_id', '=', child?.id ?? '')
      .executeTakeFirstOrThrow()
    expect(plan).toContain(`"EVENT_BUILD_ID":{"value":"${first.id}"}`)
    expect(plan).toContain('"EVENT_BUILD_STATUS":{"value":"success"}')
    const [delivery] = (await listDeliveryPage(app, { limit: 10 })).items
    expect(delivery).toMatchObject({ event: 'build', repo: 'a/app', status: 'processed', builds: [child?.id] })
    expect(delivery?.forge ?? delivery?.registry ?? delivery?.webhook).toBeUndefined()
    expect((await showDelivery(app, delivery?.id ?? '')).triggers?.map(({ pipeline, reason }) => [pipeline, reason])).toEqual([
      ['a/alarm', 'status'],
      ['a/deploy', undefined],
      ['a/main', 'branch'],
    ])
    await processDeliveries(app)
    expect(await buildsOf(app, 'a/deploy')).toHaveLength(1)
    await finish(scene, 'a/app', 'error', { branch: 'main' })
    expect(await buildsOf(app, 'a/alarm')).toHaveLength(1)
    const waiting = await submit(scene, { document: undefined, pipeline: 'a/app' })
    await terminateBuild(app, waiting.id, 'tester')
    await processDeliveries(app)
    expect(await buildsOf(app, 'a/alarm')).toHaveLength(2)
    // A document that cannot be compiled ends its build in the transaction that creates it.
    await submit(scene, { document: 'steps: 5' })
    await putPipeline(app, { input: PipelineInput.parse({ name: 'a/app', document: 'steps: 5' }), precondition: {} })
    await submit(scene, { document: undefined, pipeline: 'a/app' })
    await processDeliveries(app)
    expect(await buildsOf(app, 'a/alarm')).toHaveLength(3)
    await replayDelivery(app, { id: delivery?.id ?? '' })
    await processDeliveries(app)
    expect(await buildsOf(app, 'a/deploy')).toHaveLength(2)
  })

  test('pipelines that start each other stop at a limit, with a reason', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const [name, source] of [
      ['a/ping', 'a/pong'],
      ['a/pong', 'a/ping'],
    ]) {
      await addPipeline(app, name ?? '')
      await add(app, { pipeline: name, type: 'build', source })
    }
    await finish(scene, 'a/ping', 'success')
    for (let round = 0; round < 2 * MAX_DEPTH; round += 1) {
      const open = (await buildsOf(app)).find(({ status }) => status === 'pending')
      if (open !== undefined) await end(scene, open, 'success')
    }
    const builds = await buildsOf(app)
    expect(builds).toHaveLength(1 + MAX_DEPTH)
    expect(builds.map(({ depth }) => depth)).toEqual(builds.map((_build, index) => index))
    const stopped = (await listDeliveryPage(app, { limit: 50 })).items.filter(({ reason }) => reason !== undefined)
    expect(stopped).toMatchObject([{ builds: [], reason: 'depth', message: expect.stringContaining('cycle') }])
  })

  test('builds of another project start nothing, unless the account lets projects start each other', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['a/app', 'b/app']) await addPipeline(app, name)
    await add(app, { pipeline: 'b/app', type: 'build', source: 'a/app' })
    await finish(scene, 'a/app', 'success')
    const [delivery] = (await listDeliveryPage(app, { limit: 1 })).items
    expect(delivery).toMatchObject({ builds: [], reason: 'project' })
    const projects = await app.store.query.selectFrom('project').select(['id', 'name']).execute()
    const ofB = { projects: projects.flatMap(({ id, name }) => (name === 'b' ? [id] : [])), pipelines: [] }
    expect((await listDeliveryPage(app, { limit: 1 }, ofB)).items).toEqual([])
    await expect(showDelivery(app, delivery?.id ?? '', ofB)).rejects.toMatchObject({ code: 'not-found' })
    await putAccountSettings(app, AccountSettings.parse({ childBuilds: 'account' }))
    await finish(scene, 'a/app', 'success')
    expect(await buildsOf(app, 'b/app')).toHaveLength(1)
  })

  test('a build that was not approved starts no others', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['a/app', 'a/alarm']) await addPipeline(app, name)
    await add(app, { pipeline: 'a/alarm', type: 'build', source: 'a/app', statuses: ['success', 'error', 'terminated'] })
    const held2 = await submit(scene, { document: undefined, pipeline: 'a/app' }, true)
    await decideApproval(app, held2.id, { decision: 'denied', by: { name: 'ann', type: 'user' } })
    await processDeliveries(app)
    expect(await show(app, held2.id)).toMatchObject({ status: 'error', reason: 'denied' })
    const [delivery] = (await listDeliveryPage(app, { limit: 1 })).items
    expect(delivery).toMatchObject({ builds: [], reason: 'status', message: expect.stringContaining('not approved') })
  })
})

describe('event triggers with two servers on one PostgreSQL', () => {
  test('each end of a build starts one build', async () => {
    await using database = await DATABASES[1].open()
    const options = { ...(await database.fresh()), startsLoops: false }
    const [one, two] = [await openApp(options, () => ''), await openApp(options, () => '')]
    try {
      const scene = await openScene(one.app)
      for (const name of ['a/app', 'a/deploy']) await addPipeline(one.app, name)
      await add(one.app, { pipeline: 'a/deploy', type: 'build', source: 'a/app' })
      for (let round = 1; round <= 10; round += 1) {
        const build = await submit(scene, { document: undefined, pipeline: 'a/app' })
        const key = await runAttempt(scene, build)
        await say(one.app, key, started, ended('success'))
        await Promise.all([processDeliveries(one.app), processDeliveries(two.app)])
      }
      await Promise.all([processDeliveries(one.app), processDeliveries(two.app)])
      expect(await buildsOf(two.app, 'a/deploy')).toHaveLength(10)
    } finally {
      await one.close()
      await two.close()
    }
  })
})

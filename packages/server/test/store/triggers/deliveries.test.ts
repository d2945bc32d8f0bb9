/** Deliveries of webhooks: what they build, and that an event is built once. */
import { BuildInput, PipelineInput, type Delivery } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { putPipeline, removePipeline } from '../../../src/pipelines/pipelines.ts'
import { retain } from '../../../src/retention.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { listDeliveryPage, replayDelivery, showDelivery } from '../../../src/triggers/deliveries/deliveries.ts'
import { takeDelivery } from '../../../src/store/triggers/deliveries.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { receiveDelivery } from '../../../src/triggers/deliveries/receive.ts'
import { getTrigger, listTriggerPage, putTrigger, removeTrigger, type TriggerWrite } from '../../../src/triggers/triggers.ts'
import { tryEvent } from '../../../src/triggers/try-event.ts'
import { removeWebhook } from '../../../src/triggers/webhooks.ts'
import { addPipeline, addTrigger, addWebhook, deliver, githubCall } from '../../support/forge-scene.ts'
import { githubComment, githubPull, githubPush, NO_COMMIT } from '../../support/payloads/payloads.ts'
import { HELLO, openScene, PROTOCOL, show, startAttempt } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DAY_MS = 86_400_000

async function buildsOf({ store }: App): Promise<BuildRow[]> {
  return store.query.selectFrom('build').selectAll().orderBy('number').execute()
}

const page = async (app: App, more: object = {}): Promise<Delivery[]> =>
  (await listDeliveryPage(app, { limit: 50, ...more })).items

describe.each(DATABASES)('deliveries on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a push builds the pipelines whose triggers match, and tells of the others why not (P141)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    for (const name of ['a/main', 'a/dev', 'a/other']) await addPipeline(app, name)
    await addTrigger(app, 'a/main', { branchRegex: '/^main$/' })
    await addTrigger(app, 'a/dev', { branchRegex: 'dev' })
    await addTrigger(app, 'a/other', { repo: 'acme/other' })
    const { id } = await deliver(app, webhook, githubPush())
    expect(await showDelivery(app, id)).toMatchObject({ status: 'received', builds: [], event: 'push', repo: 'acme/app' })
    await processDeliveries(app)
    const [build, ...more] = await buildsOf(app)
    expect(more).toEqual([])
    expect(build).toMatchObject({
      pipeline: 'a/main',
      branch: 'main',
      initiator: 'ann',
      trigger: 'webhook',
      trigger_name: 'push',
      status: 'pending',
    })
    const shown = await showDelivery(app, id)
    expect(shown).toMatchObject({ status: 'processed', repo: 'acme/app', branch: 'main', builds: [build?.id] })
    expect(shown.triggers?.map(({ pipeline, reason, message }) => [pipeline, reason, message])).toEqual([
      ['a/dev', 'branch', '"main" does not match dev.'],
      ['a/main', undefined, undefined],
    ])
  })

  test('lists deliveries by pipeline, branch, reason and whether they built', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const webhook = await addWebhook(app)
    for (const name of ['a/main', 'a/dev']) await addPipeline(app, name)
    await addTrigger(app, 'a/main', { branchRegex: '/^main$/' })
    await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    await addTrigger(app, 'a/dev', { branchRegex: 'next' })
    // Ids of the same second have no order.
    clock.advance(1_000)
    await deliver(app, webhook, githubPush({ ref: 'refs/heads/dev' }))
    await processDeliveries(app)
    const branches = async (query: object): Promise<(string | undefined)[]> =>
      (await page(app, query)).map(({ branch }) => branch)
    expect(await branches({})).toEqual(['dev', 'main'])
    expect(await branches({ branch: 'main' })).toEqual(['main'])
    expect(await branches({ built: true })).toEqual(['main'])
    expect(await branches({ built: false })).toEqual(['dev'])
    expect(await branches({ reason: 'branch' })).toEqual(['dev'])
    expect(await branches({ pipeline: 'a/dev' })).toEqual(['dev'])
    expect(await branches({ pipeline: 'a/main', built: true })).toEqual(['main'])
    await expect(page(app, { pipeline: 'a/none' })).rejects.toMatchObject({ code: 'not-found' })
    // A caller with a role for one pipeline learns nothing about what others built.
    const [dev] = await app.store.query.selectFrom('pipeline').select('id').where('name', '=', 'a/dev').execute()
    const places = { projects: [], pipelines: [dev?.id ?? ''] }
    expect((await listDeliveryPage(app, { limit: 50, built: true }, places)).items).toEqual([])
    expect((await listDeliveryPage(app, { limit: 50, built: false }, places)).items).toMatchObject([{ branch: 'dev' }])
  })

  test('shows what each rule compared, the headers of the call, and its body without credentials', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/docs')
    await addTrigger(app, 'a/docs', { branchRegex: 'main', modifiedFilesGlob: '{docs/**,src/**}' })
    const { id } = await deliver(app, webhook, githubPush({ access_token: 'hunter2' }), { id: 'one' })
    await processDeliveries(app)
    const { triggers, headers, body } = await showDelivery(app, id)
    const ruleOf = (name: string): unknown => triggers?.[0]?.rules.find(({ rule }) => rule === name)
    expect(ruleOf('branch')).toMatchObject({ holds: true, value: 'main', pattern: 'main' })
    expect(ruleOf('modified-files')).toMatchObject({
      value: '2 changed files',
      pattern: '{docs/**,src/**}',
      files: [{ file: 'src/new.ts', part: 'src/**' }, { file: 'README.md' }],
    })
    expect(headers).toEqual({ 'x-github-event': 'push', 'x-github-delivery': 'one' })
    expect(body).toContain('"access_token":"*****"')
    expect(body).not.toContain('hunter2')
  })

  test('sets the variables of the event, and puts its body on the volume of the build (P152)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', { events: ['pullrequest', 'push'] })
    const body = githubPull('opened')
    await deliver(app, webhook, body, { event: 'pull_request' })
    await processDeliveries(app)
    const [build] = await buildsOf(app)
    const { buildId, attempt } = await startAttempt(scene, build as BuildRow)
    const claimed = await claimAttempt(app, { buildId, attempt }, { ...PROTOCOL, claimKey: 'a claim key of an engine' })
    expect(claimed.files).toEqual({ 'event.json': JSON.stringify(body) })
    const system = claimed.plan.variables.find(({ level }) => level === 'system')?.variables
    const value = (text: string): object => ({ value: text })
    expect(system).toMatchObject({
      CF_BUILD_TRIGGER: value('webhook'),
      CF_BUILD_INITIATOR: value('bob'),
      CF_BRANCH: value('feature/x'),
      CF_REPO_OWNER: value('Acme'),
      CF_REPO_NAME: value('app'),
      CF_PULL_REQUEST_ACTION: value('opened'),
      CF_PULL_REQUEST_NUMBER: value('7'),
      CF_PULL_REQUEST_TARGET: value('main'),
      CF_PULL_REQUEST_LABELS: value('bug,ci'),
      CF_PULL_REQUEST_TITLE: value("Add \\'x\\'"),
    })
    // A repeated build has the same event.
    const request = BuildInput.parse({ restartOf: build?.id })
    const again = await createBuild(app, { request, initiator: 'tester', trigger: { kind: 'restart' } })
    expect(again.trigger_name).toBe('push')
    const plan = await app.store.query
      .selectFrom('build_plan')
      .select('delivery_id')
      .where('build_id', '=', again.id)
      .executeTakeFirstOrThrow()
    expect(plan.delivery_id).not.toBeNull()
  })

  test('the settings of a trigger override those of its pipeline (P147)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const webhook = await addWebhook(app)
    const variables = ['A', 'B'].map((key) => ({ key, value: 'pipeline', encrypted: false }))
    const settings = { options: { noCache: true, resetVolume: true }, machine: { cpu: '1', memory: '1Gi' } }
    await addPipeline(app, 'a/app', { variables, settings, priority: 1, runtime: 'local' })
    await addTrigger(app, 'a/app', {
      variables: [{ key: 'B', value: 'trigger' }],
      options: { noCache: false, noCfCache: true },
      runtimeEnvironment: { memory: '2Gi' },
      priority: 7,
    })
    await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    const [build] = await buildsOf(app)
    expect(build).toMatchObject({ priority: 7, runtime: 'local' })
    const plan = await app.store.query.selectFrom('build_plan').selectAll().executeTakeFirstOrThrow()
    expect(JSON.parse(plan.request)).toMatchObject({
      noCache: false,
      noCfCache: true,
      resetVolume: true,
      machine: { cpu: '1', memory: '2Gi' },
    })
    const layers = (JSON.parse(plan.plan ?? '') as { variables: { level: string; source?: string; variables: object }[] })
      .variables
    expect(layers.filter(({ level }) => level === 'trigger' || level === 'pipeline')).toEqual([
      { level: 'pipeline', source: 'a/app', variables: { A: { value: 'pipeline' }, B: { value: 'pipeline' } } },
      { level: 'trigger', source: 'push', variables: { B: { value: 'trigger' } } },
    ])
  })

  test('a trigger can have its own termination policy and its own limit of concurrent builds (P147, P153)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openScene(app)
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app', { triggerConcurrency: 5 })
    const policy = [{ type: 'branch', event: 'onCreate' }]
    await addTrigger(app, 'a/app', { name: 'only-last', branchRegex: 'main', terminationPolicy: policy })
    await addTrigger(app, 'a/app', { name: 'one-by-one', branchRegex: 'dev', concurrency: 1 })
    for (const ref of ['refs/heads/main', 'refs/heads/dev'])
      for (const before of ['1', '2']) {
        clock.advance(1)
        await deliver(app, webhook, githubPush({ ref, before: before.repeat(40) }))
      }
    await processDeliveries(app)
    await elect(app)
    expect((await buildsOf(app)).map(({ branch, status, reason }) => [branch, status, reason])).toEqual([
      ['main', 'terminated', 'superseded'],
      ['main', 'elected', null],
      ['dev', 'elected', null],
      ['dev', 'pending', 'trigger-limit'],
    ])
  })

  test('the triggers of a document start builds, and change and go with it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    const put = (triggers: string): Promise<unknown> =>
      putPipeline(app, {
        input: PipelineInput.parse({
          name: 'a/app',
          document: `kind: pipeline\nversion: '1.0'\nmetadata: {name: a/app}\nspec:\n  triggers: ${triggers}\n${HELLO.replace(/^version.*\n/, '').replace(/^/gm, '  ')}`,
        }),
        precondition: {},
      })
    await put('[{name: one, type: git, repo: Acme/App, events: [push], branchRegex: ""}, {name: broken, type: git}]')
    await addTrigger(app, 'a/app', { name: 'mine', events: ['release'] })
    const list = async (): Promise<unknown[]> =>
      (await listTriggerPage(app, { pipeline: 'a/app', after: undefined, limit: 50 }))
        .map(({ name, origin }) => `${name} ${origin}`)
        .toSorted()
    expect(await list()).toEqual(['mine api', 'one document'])
    await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    expect((await buildsOf(app)).map(({ trigger_name: name }) => name)).toEqual(['one'])
    const { id } = await getTrigger(app.store.query, app.accountId, 'a/app#one')
    await expect(removeTrigger(app, id)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('document') })
    await put('[{name: one, type: git, repo: acme/other, events: [push]}]')
    // A trigger keeps its id, so what it has built stays known.
    expect(await getTrigger(app.store.query, app.accountId, 'a/app#one')).toMatchObject({ id, repo: 'acme/other' })
    await put('[]')
    expect(await list()).toEqual(['mine api'])
    await removePipeline(app, 'a/app')
    expect(await app.store.query.selectFrom('pipeline_trigger').selectAll().execute()).toEqual([])
  })

  test('a trigger accepts the webhooks of its context and forge, and a webhook the events of its repository', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', { name: 'any' })
    await addTrigger(app, 'a/app', { name: 'inside', context: 'inside' })
    await addTrigger(app, 'a/app', { name: 'gitlab', provider: 'gitlab' })
    const started = async (input: object): Promise<unknown> => {
      const webhook = await addWebhook(app, input)
      const { id } = await deliver(app, webhook, githubPush({ before: webhook.id.padEnd(40, '1') }))
      await processDeliveries(app)
      const { triggers = [], reason } = await showDelivery(app, id)
      return reason ?? triggers.map(({ trigger }) => trigger)
    }
    expect(await started({ name: 'one' })).toEqual(['any'])
    expect(await started({ name: 'two', context: 'inside' })).toEqual(['any', 'inside'])
    expect(await started({ name: 'three', repo: 'Acme/APP' })).toEqual(['any'])
    expect(await started({ name: 'four', repo: 'acme/other' })).toBe('repository-refused')
  })

  test('a repeated delivery, and the same event from another webhook, build nothing more', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app')
    const [one, two] = [await addWebhook(app, { name: 'one' }), await addWebhook(app, { name: 'two' })]
    const first = await deliver(app, one, githubPush(), { id: 'same' })
    expect(await deliver(app, one, githubPush(), { id: 'same' })).toEqual({ id: first.id, isRepeat: true })
    await processDeliveries(app)
    expect(await deliver(app, one, githubPush(), { id: 'same' })).toEqual({ id: first.id, isRepeat: true })
    const other = await deliver(app, two, githubPush(), { id: 'same' })
    await processDeliveries(app)
    expect(await buildsOf(app)).toHaveLength(1)
    const { repeats, reason } = await showDelivery(app, first.id)
    expect({ repeats, reason }).toEqual({ repeats: 2, reason: undefined })
    expect(await showDelivery(app, other.id)).toMatchObject({
      reason: 'already-built',
      message: expect.stringContaining(first.id),
    })
    // The same commit on the same branch is another event if it came after another one.
    await deliver(app, two, githubPush({ before: 'c3'.repeat(20) }))
    await processDeliveries(app)
    expect(await buildsOf(app)).toHaveLength(2)
  })

  test('pushes of a repository are built in their order, also if a server was killed or another one is faster', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app')
    const push = async (n: number, more: object = {}): Promise<string> => {
      clock.advance(1)
      return (await deliver(app, webhook, githubPush({ after: n.toString().repeat(40), head_commit: null, ...more }))).id
    }
    const [first] = [await push(1), await push(2)]
    const other = await push(3, { repository: { full_name: 'acme/other' } })
    // A server that is killed after it has taken the first delivery.
    const take = (): Promise<string | undefined> =>
      app.store.write(async (tx) => (await takeDelivery(tx, { now: clock.now(), holdMs: 5_000 }))?.id)
    expect([await take(), await take(), await take()]).toEqual([first, other, undefined])
    clock.advance(5_000)
    await processDeliveries(app)
    expect((await buildsOf(app)).map(({ revision }) => revision?.[0])).toEqual(['1', '2'])
  })

  test('a replay builds again, against the triggers as they are now', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    const { id: trigger, pipeline } = await addTrigger(app, 'a/app', { branchRegex: 'dev' })
    const { id } = await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    expect(await buildsOf(app)).toEqual([])
    await putTrigger(app, trigger, { input: { ...(await specOf(app, trigger)), pipeline, branchRegex: 'main' } })
    const replays = [await replayDelivery(app, { id }), await replayDelivery(app, { id })]
    await processDeliveries(app)
    expect(await buildsOf(app)).toHaveLength(2)
    for (const replay of replays)
      expect(await showDelivery(app, replay.id)).toMatchObject({
        replayOf: id,
        status: 'processed',
        builds: [expect.any(String)],
      })
  })

  test('refuses calls with a wrong signature and bodies that are not JSON, and keeps one row of each', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    const signed = githubCall(webhook, githubPush())
    const forged = { ...signed, body: Buffer.from(signed.body.toString().replace('main', 'evil')) }
    for (let i = 0; i < 3; i += 1)
      await expect(receiveDelivery(app, { webhook: webhook.id, ...forged })).rejects.toMatchObject({ code: 'signature-wrong' })
    const text = githubCall(webhook, 'payload')
    await expect(receiveDelivery(app, { webhook: webhook.id, ...text })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(receiveDelivery(app, { webhook: 'f'.repeat(24), ...signed })).rejects.toMatchObject({ code: 'not-found' })
    const rows = (await page(app)).toSorted((a, b) => b.repeats - a.repeats)
    expect(rows).toMatchObject([
      { status: 'refused', reason: 'signature-wrong', repeats: 2, webhook: 'forge' },
      { status: 'refused', reason: 'payload-invalid', repeats: 0, webhook: 'forge' },
    ])
    await expect(replayDelivery(app, { id: rows[0]?.id ?? '' })).rejects.toMatchObject({ code: 'conflict' })
    const stored = await app.store.query.selectFrom('delivery').select('body').execute()
    expect(stored).toEqual([{ body: null }, { body: null }])
  })

  test('says of each delivery without builds what it lacks', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app', { runtime: 'gone' })
    await addTrigger(app, 'a/app', { name: 'push', events: ['push'] })
    await addTrigger(app, 'a/app', { name: 'comment', events: ['pullrequest.commentAdded'], pullRequestAllowForkEvents: true })
    const reasonOf = async (body: unknown, event: string): Promise<string | undefined> => {
      const { id } = await deliver(app, webhook, body, { event })
      await processDeliveries(app)
      return (await showDelivery(app, id)).reason
    }
    expect(await reasonOf({ zen: 'Keep it simple.' }, 'ping')).toBe('event-unsupported')
    expect(await reasonOf({ ref: 'refs/heads/main' }, 'push')).toBe('payload-invalid')
    expect(await reasonOf(githubPush({ repository: { full_name: 'acme/unknown' } }), 'push')).toBe('no-trigger')
    expect(await reasonOf(githubPush({ after: NO_COMMIT, head_commit: null }), 'push')).toBe('event')
    expect(await reasonOf(githubComment('/test', 'NONE'), 'issue_comment')).toBe('no-trigger')
    const { id } = await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    const { triggers = [] } = await showDelivery(app, id)
    expect(triggers.map(({ reason, message }) => [reason, message])).toEqual([
      ['event', expect.any(String)],
      ['build-refused', expect.stringContaining('"gone" does not exist')],
    ])
    await removeWebhook(app, 'forge')
    expect((await page(app, { status: 'processed' })).every(({ webhook: name }) => name === undefined)).toBe(true)
  })

  test('shows what an event would start, and starts nothing', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app', { modifiedFilesGlob: 'docs/**' })
    const input = { forge: 'github', event: 'push', body: JSON.stringify(githubPush()) } as const
    const found = await tryEvent(app, input)
    expect(found).toMatchObject({ events: ['push.heads', 'push'], repo: 'Acme/app', branch: 'main' })
    expect(found.triggers).toMatchObject([{ pipeline: 'a/app', trigger: 'push', reason: 'modified-files' }])
    expect(found.triggers[0]?.rules).toHaveLength(9)
    expect(await tryEvent(app, { ...input, event: 'ping' })).toMatchObject({ reason: 'event-unsupported', triggers: [] })
    await expect(tryEvent(app, { ...input, body: 'x' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(tryEvent(app, { ...input, pipeline: 'none' })).rejects.toMatchObject({ code: 'not-found' })
    expect(await buildsOf(app)).toEqual([])
  })

  test('refuses triggers whose filters can never be used, and encrypted variables', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await addPipeline(app, 'a/app')
    for (const wrong of [{ branchRegex: '/(/' }, { commentRegex: '/(?<=a)b/' }, { modifiedFilesGlob: '!' }])
      await expect(addTrigger(app, 'a/app', wrong)).rejects.toMatchObject({ code: 'request-invalid' })
    const secret = { variables: [{ key: 'A', value: 's3cret', encrypted: true }] }
    await expect(addTrigger(app, 'a/app', secret)).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(addTrigger(app, 'a/none')).rejects.toMatchObject({ code: 'not-found' })
    await addTrigger(app, 'a/app')
    await expect(addTrigger(app, 'a/app')).rejects.toMatchObject({ code: 'conflict' })
  })

  test('deletes deliveries after 30 days, and remembers until then what was built', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app')
    await deliver(app, webhook, githubPush())
    await processDeliveries(app)
    clock.advance(29 * DAY_MS)
    await retain(app)
    expect(await page(app)).toHaveLength(1)
    clock.advance(2 * DAY_MS)
    await retain(app)
    expect(await page(app)).toEqual([])
    expect(await app.store.query.selectFrom('firing').selectAll().execute()).toEqual([])
    const [build] = await buildsOf(app)
    expect(await show(app, build?.id ?? '')).toMatchObject({ trigger: { kind: 'webhook' } })
  })
})

/** Returns the fields of a trigger, to send them again with a change. */
async function specOf(app: App, id: string): Promise<TriggerWrite['input']> {
  const { spec, pipeline } = await getTrigger(app.store.query, app.accountId, id)
  return { ...(JSON.parse(spec) as TriggerWrite['input']), pipeline }
}

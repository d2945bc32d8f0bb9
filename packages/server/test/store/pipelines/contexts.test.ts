import { newId } from '@windlass/kit'
import { ContextInput, CronTriggerInput, PipelineInput, TriggerInput, type Context } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { showContext } from '../../../src/contexts/context-use.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { putProject } from '../../../src/pipelines/projects.ts'
import { findPipeline, listPipelinesById, savePipeline } from '../../../src/store/pipelines/pipelines.ts'
import { createCronTrigger } from '../../../src/triggers/cron/cron-triggers.ts'
import { createTrigger } from '../../../src/triggers/triggers.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { HELLO, openScene, PROTOCOL, startAttempt, submit, type Scene } from '../../support/scene.ts'

async function context(app: App, type: string, data: object, name: string = type): Promise<Context> {
  return (await putContext(app, { input: ContextInput.parse({ name, type, data }), mustBeNew: false })).context
}

async function claimOf(scene: Scene, input: object): ReturnType<typeof claimAttempt> {
  const build = await submit(scene, input)
  const { buildId, attempt } = await startAttempt(scene, build)
  return claimAttempt(scene.app, { buildId, attempt }, { ...PROTOCOL, claimKey: `claim-key-of-${buildId}` })
}

const PIPELINE = `version: '1.0'
kind: pipeline
metadata: { name: shop/app, description: The shop, labels: { tags: [public] } }
spec:
  variables:
    - { key: PLAIN, value: one }
    - { key: TOKEN, value: very-secret, encrypted: true }
  options: { noCache: true, resetVolume: true, keepPVCsForPendingApproval: true }
  runtimeEnvironment: { name: local, cpu: 2000m, memory: 4Gi, dindStorage: nullGi }
  concurrency: 3
  triggerConcurrency: 2
  branchConcurrency: 1
  priority: 5
  permitRestartFromFailedSteps: false
  terminationPolicy:
    - { type: branch, event: onCreate, ignoreTrigger: true }
    - { type: annotation, event: onTerminate, key: cf_predecessor }
  clustersInfo: { injectAll: false, clusters: [stage] }
  externalResources: [{ type: git, repo: o/n, revision: main, source: a, destination: b }]
  steps:
    one: { image: alpine, commands: [echo one] }
`

describe.each(DATABASES)('contexts and pipelines on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('names the pipelines and triggers that use a context, and who wrote it last', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const input = ContextInput.parse({ name: 'my_registry', type: 'registry', data: { domain: 'registry.example.com' } })
    await putContext(app, { input, mustBeNew: true, by: 'mira' })
    const step = (line: string): string => `steps:\n  push:\n    type: push\n    ${line}\n`
    const documents = {
      'team/imported': 'steps: {}',
      'team/quoted': step("registry: 'my_registry' # ours"),
      'team/listed': step('registries: [other, my_registry]'),
      'team/longer': step('registry: my_registry2'),
      'team/similar': step('registry: myXregistry'),
      'team/prose': step('title: pushes to my_registry at night'),
      'team/dashed': step('title: not-my_registry'),
      'team/tagged': step('image: app:my_registry'),
    }
    for (const [name, document] of Object.entries(documents))
      await putPipeline(app, {
        input: PipelineInput.parse({ name, document, ...(name === 'team/imported' && { contexts: ['my_registry'] }) }),
        precondition: {},
      })
    const trigger = { pipeline: 'team/longer', repo: 'acme/app', events: ['push'] }
    await createTrigger(app, { input: TriggerInput.parse({ ...trigger, name: 'variables', contexts: ['my_registry'] }) })
    await createTrigger(app, { input: TriggerInput.parse({ ...trigger, name: 'login', context: 'my_registry' }) })
    await createTrigger(app, { input: TriggerInput.parse({ ...trigger, name: 'other', contexts: ['my_registry2'] }) })
    const cron = { pipeline: 'team/longer', name: 'nightly', message: 'night', expression: '@daily', contexts: ['my_registry'] }
    await createCronTrigger(app, { input: CronTriggerInput.parse(cron) })
    expect(await showContext(app, 'my_registry')).toMatchObject({
      changedBy: 'mira',
      usedBy: {
        total: 6,
        pipelines: ['team/imported', 'team/listed', 'team/quoted'],
        triggers: ['team/longer#login', 'team/longer#variables', 'team/longer#nightly'],
      },
    })
    await putContext(app, { input, mustBeNew: false, by: 'jo' })
    expect(await showContext(app, 'my_registry')).toMatchObject({ changedBy: 'jo' })
  })

  test('finds the pipelines that use a context also among large documents', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const input = ContextInput.parse({ name: 'reg', type: 'registry', data: { domain: 'registry.example.com' } })
    await putContext(app, { input, mustBeNew: true, by: 'mira' })
    await putPipeline(app, { input: PipelineInput.parse({ name: 'large', document: 'steps: {}' }), precondition: {} })
    const row = await findPipeline(app.store.query, app.accountId, 'large')
    if (row === undefined) throw new Error('no pipeline')
    const document = `# ${'x'.repeat(1_000_000)}\nsteps: { push: { type: push, registry: reg } }\n`
    const names = Array.from({ length: 20 }, (_, index) => `large-${10 + index}`)
    for (const name of names)
      await app.store.write((tx) => savePipeline(tx, { ...row, id: newId(app.clock.now()), name, document }))
    expect(await showContext(app, 'reg')).toMatchObject({ usedBy: { total: names.length, pipelines: names } })
  })

  test('counts all pipelines that use a context, and names at most 100 of them', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await putContext(app, { input: ContextInput.parse({ name: 'shared', type: 'config', data: {} }), mustBeNew: true })
    for (let n = 0; n < 103; n += 1) {
      const input = PipelineInput.parse({ name: `many/p${n}`, document: 'steps: {}', contexts: ['shared'] })
      await putPipeline(app, { input, precondition: {} })
    }
    const { usedBy } = await showContext(app, 'shared')
    expect(usedBy).toMatchObject({ total: 103, triggers: [] })
    expect(new Set(usedBy?.pipelines).size).toBe(100)
  })

  test('provides variables from all four types of shared configuration, the secret ones as secrets (P132)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await context(held.app, 'config', { A: 'config' })
    await context(held.app, 'secret', { B: 'secret-b' })
    await context(held.app, 'yaml', { c: 'text', count: 3, on: true, nested: { deep: [1, 'two'] }, nothing: null })
    const shown = await context(held.app, 'secret-yaml', { D: 'secret-d', more: { key: 'secret-more' } })
    expect(shown.data).toEqual({ D: '*****', more: '*****' })
    const { plan, secrets } = await claimOf(scene, { contexts: ['config', 'secret', 'yaml', 'secret-yaml'] })
    const layers = plan.variables.filter(({ level }) => level === 'context')
    expect(layers.map(({ source }) => source)).toEqual(['config', 'secret', 'yaml', 'secret-yaml'])
    expect(layers[2]?.variables).toEqual({
      c: { value: 'text' },
      count: { value: '3' },
      on: { value: 'true' },
      nested: { value: '{"deep":[1,"two"]}' },
      nothing: { value: '' },
    })
    expect(Object.values(secrets)).toEqual(['secret-b', 'secret-d', '{"key":"secret-more"}'])
    expect(JSON.stringify(plan)).not.toContain('secret-d')
    const stored = await held.app.store.query.selectFrom('context').select('data').execute()
    expect(JSON.stringify(stored)).not.toMatch(/secret-[bd]|secret-more/)
  })

  test('shows a YAML context in its original shape, and keeps masked values of a secret one', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const data = { replicas: 3, image: { tag: 'v1' }, list: ['a', null] }
    expect((await context(held.app, 'yaml', data)).data).toEqual(data)
    await context(held.app, 'secret-yaml', { a: { b: 'kept' } })
    await context(held.app, 'secret-yaml', { a: '*****', c: 1 })
    expect(Object.values((await claimOf(scene, { contexts: ['secret-yaml'] })).secrets)).toEqual(['{"b":"kept"}', '1'])
    await expect(context(held.app, 'config', { A: 1 })).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('gives the engine a secret store with its token, and the API one without (P133)', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const shown = await context(
      held.app,
      'secret-store',
      { url: 'http://vault:8200', token: 'root-token', path: 'team/app' },
      'vault',
    )
    expect(shown.data).toEqual({ url: 'http://vault:8200', token: '*****', path: 'team/app' })
    await expect(context(held.app, 'secret-store', { token: 'x' }, 'bad')).rejects.toMatchObject({ code: 'request-invalid' })
    const { secretStores } = await claimOf(scene, {})
    expect(secretStores).toEqual([
      { context: 'vault', url: 'http://vault:8200', mount: 'secret', token: 'root-token', path: 'team/app' },
    ])
  })

  test('layers variables in the order runtime, project, contexts, pipeline, run (P119)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app, { variables: { V: 'runtime' } })
    await context(app, 'config', { V: 'first' }, 'first')
    await context(app, 'config', { V: 'second' }, 'second')
    await putProject(app, { input: { name: 'p', variables: { V: 'project' } }, mustBeNew: true })
    const input = PipelineInput.parse({
      name: 'p/one',
      document: HELLO,
      contexts: ['first', 'second'],
      variables: [{ key: 'V', value: 'pipeline' }],
    })
    await putPipeline(app, { input, precondition: {} })
    const { plan } = await claimOf(scene, { document: undefined, pipeline: 'p/one', variables: { V: 'build' } })
    const order = plan.variables.flatMap(({ variables }) => {
      const found = variables['V']
      return found === undefined || !('value' in found) ? [] : [found.value]
    })
    expect(order).toEqual(['runtime', 'project', 'first', 'second', 'pipeline', 'build'])
  })

  test('never returns encrypted values, and keeps those sent back as ***** (P131)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { pipeline } = await putPipeline(app, {
      input: PipelineInput.parse({ name: 'shop/app', document: PIPELINE }),
      precondition: {},
    })
    expect(JSON.stringify(pipeline)).not.toContain('very-secret')
    expect(pipeline.variables).toContainEqual({ key: 'TOKEN', value: '*****', encrypted: true })
    await putPipeline(app, { input: PipelineInput.parse(pipeline), precondition: {} })
    const { secrets } = await claimOf(scene, { document: undefined, pipeline: 'shop/app' })
    expect(Object.values(secrets)).toEqual(['very-secret'])
  })

  test('stores and applies the settings of a pipeline document', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const { pipeline } = await putPipeline(app, {
      input: PipelineInput.parse({ name: 'shop/app', document: PIPELINE }),
      precondition: {},
    })
    expect(pipeline).toMatchObject({
      project: 'shop',
      runtime: 'local',
      concurrency: 3,
      triggerConcurrency: 2,
      branchConcurrency: 1,
      priority: 5,
      settings: {
        description: 'The shop',
        options: { noCache: true, resetVolume: true, noCfCache: false, keepPVCsForPendingApproval: true },
        machine: { cpu: '2000m', memory: '4Gi' },
        permitRestartFromFailedSteps: false,
        terminationPolicy: [{ type: 'branch' }, { type: 'annotation', key: 'cf_predecessor' }],
        clusters: ['stage'],
        kept: { externalResources: [{ repo: 'o/n' }] },
      },
    })
    const build = await submit(scene, { document: undefined, pipeline: 'shop/app', machine: { memory: '8Gi' } })
    expect(build).toMatchObject({ priority: 5, keeps_volume: 1, approval_counts: 0 })
    await startAttempt(scene, build)
    const { payload } = await app.store.query.selectFrom('task').select('payload').executeTakeFirstOrThrow()
    expect(JSON.parse(payload)).toMatchObject({
      spec: { dockerDaemonScheduler: { defaultDindResources: { limits: { cpu: '2000m', memory: '8Gi' } } } },
    })
    expect(await findPipeline(app.store.query, app.accountId, 'shop/app')).toMatchObject({ trigger_concurrency: 2 })
  })

  test('rejects a pipeline with an invalid setting, and ends a build of such a document', async () => {
    await using held = await openTestApp(database)
    const wrong = PIPELINE.replace('type: branch, event: onCreate', 'type: nonsense, event: onCreate')
    const put = putPipeline(held.app, { input: PipelineInput.parse({ name: 'shop/app', document: wrong }), precondition: {} })
    await expect(put).rejects.toMatchObject({ code: 'pipeline-invalid' })
    await openScene(held.app)
    expect(await submit({ app: held.app }, { document: wrong })).toMatchObject({ status: 'error', reason: 'invalid-pipeline' })
  })

  test('reads pipelines in the order of their ids until a limit of bytes, and at least one', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const put = async (name: string, text: string): Promise<string> =>
      (await putPipeline(app, { input: PipelineInput.parse({ name, document: text }), precondition: {} })).pipeline.id
    const [a, b, c] = [await put('a', 'ä'.repeat(20_000)), await put('b', 'b'), await put('c', 'c'.repeat(50_000))]
    const namesOf = async (ids: string[], maxBytes: number): Promise<string[]> =>
      (await listPipelinesById(app.store.query, app.accountId, { ids, maxBytes })).map(({ name }) => name)
    expect(await namesOf([c, 'none', a, b], 200_000)).toEqual(['c', 'a', 'b'])
    expect(await namesOf([b, a, c], 60_000)).toEqual(['b', 'a'])
    expect(await namesOf([a, b, c], 30_000)).toEqual(['a'])
    expect(await namesOf(['none'], 200_000)).toEqual([])
    expect(await listPipelinesById(app.store.query, 'another', { ids: [a], maxBytes: 200_000 })).toEqual([])
  })
})

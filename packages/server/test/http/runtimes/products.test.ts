/** Environments, products and releases over HTTP: membership by reports, roles, teams of environments, and hooks. */
import { errandCalls } from '@windlass/client/app-proxy'
import type { ApiClient } from '@windlass/client'
import { isFault } from '@windlass/kit'
import { expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { openProduct, STAGING } from '../../support/product.ts'
import { claimStart, startEngine } from '../../support/fakes/fake-agent.ts'

const COMMIT = 'c'.repeat(40)
const BOTH = { from: 'staging', to: 'production' } as const

async function keyOf({ admin, nobody }: HttpScene, name: string, role: 'viewer' | 'developer'): Promise<ApiClient> {
  await admin.users.create({ name, role, password: 'correct horse battery' })
  return nobody.withToken((await admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })).token)
}

test('applications appear in the environment of their namespace as they are reported, and leave it when they move (O063)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const product = await openProduct(scene)
  expect((await admin.environments.list()).items).toMatchObject([
    { name: 'staging', kind: 'NON_PROD', applications: 1, healthy: 1 },
    { name: 'production', kind: 'PROD', applications: 1, healthy: 1 },
  ])
  await product.report('staging', {
    health: 'Degraded',
    status: { health: { status: 'Degraded' }, summary: { images: ['registry.test/shop:2.0'] } },
  })
  expect(await admin.products.get('shop')).toMatchObject({
    environments: [
      {
        environment: 'staging',
        health: 'degraded',
        sync: 'synced',
        version: '2.0',
        applications: [{ name: 'shop-staging', version: '2.0' }],
      },
      { environment: 'production', health: 'healthy', version: '1' },
    ],
    elsewhere: [],
  })
  await product.report('staging', { spec: { destination: { server: 'https://kubernetes.default.svc', namespace: 'other' } } })
  expect(await admin.products.get('shop')).toMatchObject({ environments: [{ environment: 'production' }], elsewhere: [STAGING] })
  expect(await admin.environments.get('staging')).toMatchObject({ applications: 0 })
  // An application without a label belongs to a product that names it.
  await product.report('staging', { annotations: {} })
  expect(await admin.products.get('shop')).toMatchObject({ environments: [{ environment: 'production' }] })
  await admin.products.put('shop', { applications: [STAGING] })
  expect(await admin.products.get('shop')).toMatchObject({
    environments: [{ environment: 'staging' }, { environment: 'production' }],
  })
})

test('definitions are refused with what is wrong, and are kept while they are used', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await openProduct(scene)
  const wrong: readonly (readonly [() => Promise<unknown>, string])[] = [
    [
      () => admin.promotionFlows.put('x', { triggerEnvironment: 'staging', steps: [{ environment: 'staging' }] }),
      'trigger environment',
    ],
    [
      () =>
        admin.promotionFlows.put('x', {
          triggerEnvironment: 'staging',
          steps: [
            { environment: 'production', dependsOn: ['far'] },
            { environment: 'far', dependsOn: ['production'] },
          ],
        }),
      'circle',
    ],
    [
      () =>
        admin.promotionFlows.put('x', {
          triggerEnvironment: 'staging',
          steps: [{ environment: 'production', dependsOn: ['far'] }],
        }),
      '"far"',
    ],
    [() => admin.promotionFlows.put('x', { triggerEnvironment: 'staging', steps: [{ environment: 'far' }] }), 'does not exist'],
    [
      () => admin.products.put('shop', { promotionTemplate: { promotion: { '../secret.yaml': { jsonPaths: ['$.a'] } } } }),
      'path',
    ],
    [() => admin.products.put('shop', { promotionTemplate: { promotion: { 'values.yaml': { jsonPaths: ['$..a'] } } } }), 'path'],
    [() => admin.products.put('shop', { promotionFlows: [{ name: 'absent' }] }), 'does not exist'],
    [() => admin.environments.put('again', { clusters: [{ namespaces: ['staging'] }] }), 'environment "staging"'],
  ]
  for (const [call, message] of wrong) await expect(call()).rejects.toMatchObject({ message: expect.stringContaining(message) })
  await admin.promotionFlows.put('main', { triggerEnvironment: 'staging', steps: [{ environment: 'production' }] })
  await admin.products.put('shop', { promotionFlows: [{ name: 'main' }] })
  await expect(admin.environments.delete('production')).rejects.toMatchObject({ code: 'conflict' })
  await expect(admin.promotionFlows.delete('main')).rejects.toMatchObject({ code: 'conflict' })
  await admin.products.delete('shop')
  await admin.promotionFlows.delete('main')
  await admin.environments.delete('production')
  await expect(admin.environments.get('production')).rejects.toMatchObject({ code: 'not-found' })
})

test('developers promote, except into environments that name teams to which they do not belong (O071)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  await openProduct(scene)
  const [dev, ops, viewer] = [
    await keyOf(scene, 'dev', 'developer'),
    await keyOf(scene, 'ops', 'developer'),
    await keyOf(scene, 'vic', 'viewer'),
  ]
  await admin.teams.create({ name: 'operators', members: ['ops'] })
  await admin.environments.put('production', {
    kind: 'PROD',
    position: 1,
    clusters: [{ namespaces: ['production'] }],
    promoters: ['operators'],
  })
  expect((await viewer.products.list()).items).toHaveLength(1)
  await expect(viewer.products.release('shop', BOTH)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(dev.environments.put('mine', { clusters: [{ namespaces: ['mine'] }] })).rejects.toMatchObject({
    code: 'forbidden',
  })
  const refused = { code: 'forbidden', message: 'Only members of "operators" may promote into the environment "production".' }
  await expect(dev.products.release('shop', BOTH)).rejects.toMatchObject(refused)
  expect((await admin.releases.list()).items).toEqual([])
  const { id } = await ops.products.release('shop', BOTH)
  await expect(dev.releases.terminate(id)).rejects.toMatchObject(refused)
  await expect(dev.releases.retry(id)).rejects.toMatchObject(refused)
  // Into another environment everybody with the right may promote.
  await dev.products.release('shop', { from: 'production', to: 'staging' })
  // A release of theirs must not end one that they may not terminate.
  await admin.products.put('shop', { concurrency: 'terminate' })
  await expect(dev.products.release('shop', { from: 'production', to: 'staging' })).rejects.toMatchObject(refused)
  await ops.releases.terminate(id)
  await expect.poll(() => admin.releases.get(id)).toMatchObject({ status: 'terminated', createdBy: 'ops' })
  const actions = (await admin.audit.list()).items.map(({ detail }) => detail ?? '')
  expect(actions).toContain('release 1 of product shop')
})

/** Plays the app-proxy: makes the change of a release. */
async function makeChange({ nobody }: HttpScene, token: string): Promise<void> {
  const calls = errandCalls(nobody.withToken(token))
  const { errands } = await calls.claim({ room: 1, waitMs: 20_000 })
  await calls.report(errands[0]?.id ?? '', { result: { kind: 'promote', revision: COMMIT, isNew: true } })
}

test('the token of a runtime claims only errands of its own runtime, and a held claim gets one at once', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  const { token } = await openProduct(scene)
  const other = errandCalls(nobody.withToken((await admin.gitopsRuntimes.createToken('other')).token))
  const held = errandCalls(nobody.withToken(token)).claim({ room: 1, waitMs: 20_000 })
  await admin.products.release('shop', BOTH)
  const [errand] = (await held).errands
  expect(errand?.work).toMatchObject({ kind: 'promote' })
  expect((await other.claim({ room: 10, waitMs: 0 })).errands).toEqual([])
  const result = { kind: 'promote', revision: COMMIT, isNew: true } as const
  expect(await other.report(errand?.id ?? '', { result })).toEqual({ isTaken: false })
  await expect(errandCalls(admin).claim({ room: 1, waitMs: 0 })).rejects.toSatisfy((error) => isFault(error, 'forbidden'))
})

interface Ended {
  readonly pipeline: string | undefined
  readonly variables: Readonly<Record<string, unknown>>
}

/** Runs the next build of a hook to its end. Returns its pipeline and its variables. */
async function endBuild(scene: HttpScene, status: 'success' | 'error', context?: object): Promise<Ended> {
  const task = await claimStart(scene.agent)
  const engine = await startEngine(scene.server.url, task)
  await scene.agent.report(task, 'done')
  if (context !== undefined)
    await scene.admin.annotations.put('build', task.buildId, { values: { PROMOTION_CONTEXT: JSON.stringify(context) } })
  if (status === 'success') await engine.succeed()
  else await engine.finish({ status, reason: 'exit-code' })
  const { pipeline } = await scene.admin.builds.get(task.buildId)
  const all = engine.claimed.plan.variables.flatMap(({ variables }) => Object.entries(variables))
  return {
    pipeline,
    variables: Object.fromEntries(all.map(([name, variable]) => [name, 'value' in variable ? variable.value : ''])),
  }
}

/** Creates the pipelines of hooks, and a flow with all of them. */
async function putHooks({ admin }: HttpScene): Promise<void> {
  for (const name of ['start', 'before', 'after', 'succeed', 'fail'])
    await admin.pipelines.create({ name: `ops/${name}`, document: HELLO })
  await admin.promotionFlows.put('main', {
    triggerEnvironment: 'staging',
    steps: [{ environment: 'production', policy: { preAction: 'ops/before', postAction: 'ops/after' } }],
    hooks: { onStart: 'ops/start', onSuccess: 'ops/succeed', onFail: 'ops/fail' },
  })
  await admin.products.put('shop', { promotionFlows: [{ name: 'main' }] })
}

test('hooks are builds with the parameters of the release, run once each, and hand values to later ones (O066, O067)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const { token, report } = await openProduct(scene)
  await putHooks(scene)
  const { id } = await admin.products.release('shop', {})
  const start = await endBuild(scene, 'success', { ticket: 'OPS-1', approved: false })
  expect(start).toMatchObject({
    pipeline: 'ops/start',
    variables: {
      PRODUCT_NAME: 'shop',
      RELEASE_ID: id,
      PROMOTION_FLOW_NAME: 'main',
      COMMIT_SHA: expect.stringMatching(/^[0-9a-f]{40}$/),
    },
  })
  const before = await endBuild(scene, 'success', { approved: true })
  expect(before).toMatchObject({
    pipeline: 'ops/before',
    variables: {
      RUNTIME: 'prod',
      APP_NAMESPACE: 'argocd',
      APP_NAME: 'shop-production',
      REPO_URL: 'https://git.test/acme/apps.git',
      BRANCH: 'main',
      PATH_IN_REPO: 'production',
      PROMOTION_CONTEXT: '{"ticket":"OPS-1","approved":false}',
    },
  })
  expect(before.variables).not.toHaveProperty('COMMIT_SHA')
  await makeChange(scene, token)
  await report('production', { status: { sync: { status: 'Synced', revision: COMMIT } } })
  const after = await endBuild(scene, 'success')
  // A later value replaces an earlier one.
  expect(after).toMatchObject({
    pipeline: 'ops/after',
    variables: { COMMIT_SHA: COMMIT, PROMOTION_CONTEXT: '{"ticket":"OPS-1","approved":true}' },
  })
  expect(await endBuild(scene, 'success')).toMatchObject({ pipeline: 'ops/succeed' })
  await expect
    .poll(() => admin.releases.get(id))
    .toMatchObject({
      status: 'succeeded',
      builds: [
        { hook: 'onStart', state: 'succeeded' },
        { hook: 'onSuccess', state: 'succeeded' },
      ],
    })
  expect((await admin.builds.list({ query: { limit: 50 } })).items).toHaveLength(4)
  expect((await admin.builds.list({ query: { limit: 1 } })).items[0]).toMatchObject({
    trigger: { kind: 'release' },
    initiator: 'admin',
  })
})

test('a hook that fails, or whose pipeline does not exist, fails the release before anything is changed (O067)', async () => {
  await using scene = await openHttpScene()
  const { admin, nobody } = scene
  const { token } = await openProduct(scene)
  await putHooks(scene)
  const failed = await admin.products.release('shop', {})
  await endBuild(scene, 'success')
  expect(await endBuild(scene, 'error')).toMatchObject({ pipeline: 'ops/before' })
  const fail = await endBuild(scene, 'success')
  expect(fail).toMatchObject({
    pipeline: 'ops/fail',
    variables: { FAILED_ENVIRONMENTS: 'production', ERROR_MESSAGE: expect.stringContaining('ended in error') },
  })
  await expect.poll(() => admin.releases.get(failed.id)).toMatchObject({ status: 'failed' })
  expect((await errandCalls(nobody.withToken(token)).claim({ room: 1, waitMs: 0 })).errands).toEqual([])
  await admin.promotionFlows.put('main', {
    triggerEnvironment: 'staging',
    steps: [{ environment: 'production' }],
    hooks: { onStart: 'ops/absent' },
  })
  const { id } = await admin.products.release('shop', {})
  await expect
    .poll(() => admin.releases.get(id))
    .toMatchObject({ status: 'failed', why: expect.stringContaining('"ops/absent"') })
})

/** Releases of products in the store: what each hop waits for, and answers that are late, lost or repeated. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { retryRelease, terminateRelease } from '../../../src/gitops/releases/change.ts'
import { ERRAND_LEASE_MS } from '../../../src/gitops/releases/errands.ts'
import { MAX_QUEUED } from '../../../src/gitops/releases/start.ts'
import { showProduct } from '../../../src/gitops/products/show-products.ts'
import { deleteDefined, POLICIES, putDefined } from '../../../src/gitops/products/definitions.ts'
import { PromotionPolicyInput } from '@windlass/protocol'
import { removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { listErrands } from '../../../src/store/runtimes/errands.ts'
import { at, NEW, OLD, openReleases, put, type ReleaseScene } from '../../support/release-scene.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

const COMMIT = 'c'.repeat(40)
const MADE = { kind: 'promote', revision: COMMIT, isNew: true } as const
const MINUTE_MS = 60_000

/** Claims the only errand, which has this kind. */
async function claimOne(scene: ReleaseScene, kind: string): Promise<Awaited<ReturnType<ReleaseScene['claim']>>[number]> {
  const [errand, ...others] = await scene.claim()
  expect(others).toEqual([])
  if (errand?.work.kind !== kind) throw new Error(`expected ${kind}, got ${JSON.stringify(errand)}`)
  return errand
}

/** Claims the change of a release and answers that it is made. */
async function makeChange(scene: ReleaseScene): Promise<string> {
  const { id } = await claimOne(scene, 'promote')
  await scene.answer(id, MADE)
  return id
}

describe.each(DATABASES)('releases on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a release asks for one commit, and succeeds when the application has it and is synced and healthy', async () => {
    await using scene = await openReleases(database, {
      promotionTemplate: {
        versionSource: { file: 'values.yaml', jsonPath: '$.tag' },
        promotion: { 'values.yaml': { jsonPaths: ['$.tag'] } },
      },
    })
    const { id } = await scene.start()
    expect(await scene.look(id)).toMatchObject({
      number: 1,
      status: 'running',
      flow: 'main',
      steps: [{ state: 'running', promotions: [{ state: 'committing' }] }],
    })
    const errand = await claimOne(scene, 'promote')
    expect(errand.work).toMatchObject({
      source: { repo: 'https://git.test/acme/apps.git', path: 'staging', revision: NEW },
      target: { repo: 'https://git.test/acme/apps.git', path: 'production', revision: 'main' },
      versionSource: { file: 'values.yaml', jsonPath: '$.tag' },
      promotion: { 'values.yaml': { jsonPaths: ['$.tag'] } },
      action: 'commit',
      title: 'Promote shop to prod/argocd/shop-production',
    })
    expect(await scene.claim()).toEqual([])
    expect(await scene.answer(errand.id, { ...MADE, version: '1.4.0' })).toBe(true)
    // An answer that is repeated changes nothing.
    expect(await scene.answer(errand.id, { ...MADE, revision: OLD })).toBe(false)
    const syncing = await scene.look(id)
    expect(syncing).toMatchObject({
      status: 'running',
      version: '1.4.0',
      steps: [{ promotions: [{ state: 'syncing', revision: COMMIT, isNew: true }] }],
    })
    expect(syncing.why).toBe(`Waits for Argo CD to see the commit ${COMMIT.slice(0, 12)} in "prod/argocd/shop-production".`)
    expect(await showProduct(scene.app, 'shop')).toMatchObject({
      environments: [{ environment: 'staging' }, { environment: 'production', releaseId: id }],
    })
    await scene.report('production', { sync: 'OutOfSync', status: { sync: { status: 'OutOfSync', revision: COMMIT } } })
    expect((await scene.look(id)).why).toContain('Waits for Argo CD to sync')
    await scene.report('production', {
      ...at(COMMIT),
      health: 'Progressing',
      status: { sync: { status: 'Synced', revision: COMMIT }, health: { status: 'Progressing' } },
    })
    expect((await scene.look(id)).why).toContain('to be healthy')
    await scene.report('production', at(COMMIT))
    expect(await scene.look(id)).toMatchObject({
      status: 'succeeded',
      steps: [{ state: 'succeeded', promotions: [{ state: 'succeeded' }] }],
    })
    expect((await scene.look(id)).why).toBeUndefined()
    expect(await listErrands(scene.app.store.query, id)).toEqual([])
    expect(await scene.claim()).toEqual([])
    // Images that have no common tag say nothing, so the version of the release counts.
    await scene.report('production', {
      status: { sync: { status: 'Synced', revision: COMMIT }, summary: { images: ['a:1', 'b:2'] } },
    })
    expect(await showProduct(scene.app, 'shop')).toMatchObject({
      environments: [
        { environment: 'staging', version: '1' },
        { environment: 'production', version: '1.4.0' },
      ],
      release: { id, status: 'succeeded', version: '1.4.0' },
    })
  })

  test('an errand whose app-proxy is killed is handed out again, and the first result counts', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await scene.look(id)
    const first = await claimOne(scene, 'promote')
    scene.clock.advance(ERRAND_LEASE_MS - 1)
    expect(await scene.claim()).toEqual([])
    scene.clock.advance(1)
    const second = await claimOne(scene, 'promote')
    // The same change, so that whoever comes later finds the commit of the other.
    expect(second).toEqual(first)
    expect(await scene.answer(first.id, MADE)).toBe(true)
    expect(await scene.answer(second.id, { ...MADE, isNew: false })).toBe(false)
    expect(await scene.look(id)).toMatchObject({ steps: [{ promotions: [{ state: 'syncing', isNew: true }] }] })
  })

  test('what can be over later is tried again with its reason, and anything else fails the release', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await scene.look(id)
    const failed = { kind: 'failed', code: 'forge-unreachable', message: 'git.test does not answer.', mayRetry: true } as const
    await scene.answer((await claimOne(scene, 'promote')).id, failed)
    const waiting = await scene.look(id)
    expect(waiting).toMatchObject({ status: 'running' })
    expect(waiting.why).toContain('git.test does not answer. It is tried again (1 of')
    expect(await scene.claim()).toEqual([])
    scene.clock.advance(2_000)
    const again = await claimOne(scene, 'promote')
    await scene.answer(again.id, {
      ...failed,
      code: 'git-token-missing',
      message: 'No token.',
      hint: 'Register one.',
      mayRetry: false,
    })
    expect(await scene.look(id)).toMatchObject({
      status: 'failed',
      why: 'production: No token. Register one.',
      steps: [{ state: 'failed' }],
    })
    expect(await scene.claim()).toEqual([])
    // By hand: another change, so that a commit that was reverted meanwhile is not taken for this one.
    await retryRelease(scene.app, id)
    await scene.look(id)
    const retried = await claimOne(scene, 'promote')
    expect(retried.work).not.toMatchObject({ change: again.work.kind === 'promote' ? again.work.change : '' })
    await scene.answer(retried.id, { ...MADE, isNew: false, revision: OLD })
    // The repository had the values, and the application has the commit.
    expect(await scene.look(id)).toMatchObject({ status: 'succeeded', steps: [{ promotions: [{ isNew: false }] }] })
    await expect(retryRelease(scene.app, id)).rejects.toMatchObject({ code: 'conflict' })
  })

  test('a release whose runtime is deleted fails and says so', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await scene.look(id)
    await removeGitopsRuntime(scene.app, 'prod')
    expect(await scene.look(id)).toMatchObject({ status: 'failed', why: 'production: The GitOps runtime "prod" was deleted.' })
  })

  test('an app-proxy that does not ask for work is named', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await scene.look(id)
    scene.clock.advance(31_000)
    expect((await scene.look(id)).why).toContain(
      'Waits for the app-proxy of the GitOps runtime "prod", which has not asked for work since',
    )
  })

  test('a later commit of the application counts if its history has the change, which is asked once', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await scene.look(id)
    await makeChange(scene)
    await scene.look(id)
    // The commit from before the change needs no question.
    expect(await scene.claim()).toEqual([])
    const [LATER, LAST] = ['d'.repeat(40), 'e'.repeat(40)]
    await scene.report('production', at(LATER))
    await scene.look(id)
    const asked = await claimOne(scene, 'contains')
    expect(asked.work).toMatchObject({ place: { path: 'production', revision: LATER }, commit: COMMIT })
    await scene.answer(asked.id, { kind: 'contains', contains: false })
    expect((await scene.look(id)).status).toBe('running')
    await scene.report('production', at(LATER))
    await scene.look(id)
    expect(await scene.claim()).toEqual([])
    await scene.report('production', at(LAST))
    await scene.look(id)
    await scene.answer((await claimOne(scene, 'contains')).id, { kind: 'contains', contains: true })
    expect((await scene.look(id)).status).toBe('succeeded')
  })

  test('an application that never gets healthy fails the release after the time of its flow, with the reason', async () => {
    await using scene = await openReleases(database)
    await put(scene.app, 'main', {
      flow: { triggerEnvironment: 'staging', steps: [{ environment: 'production' }], timeoutMinutes: 10 },
    })
    const { id } = await scene.start()
    await scene.look(id)
    await makeChange(scene)
    await scene.look(id)
    await scene.report('production', {
      status: { sync: { status: 'Synced', revision: COMMIT }, health: { status: 'Degraded', message: 'no image' } },
    })
    scene.clock.advance(10 * MINUTE_MS - 1)
    expect((await scene.look(id)).status).toBe('running')
    scene.clock.advance(1)
    const failed = await scene.look(id)
    expect(failed).toMatchObject({ status: 'failed' })
    expect(failed.why).toContain('to be healthy')
    expect(failed.why).toContain('no image')
    expect(failed.why).toContain('It has waited for 10 min.')
  })

  test('a pull request suspends the release until it is merged, and one that is closed fails it (O070)', async () => {
    await using scene = await openReleases(database)
    const policy = PromotionPolicyInput.parse({ selector: { targetEnvironment: { types: ['PROD'] } }, policy: { action: 'pr' } })
    await putDefined(scene.app, { kind: POLICIES, name: 'prod-by-pr', spec: policy, by: 'tester' })
    const pull = { number: 7, url: 'https://git.test/acme/apps/pulls/7' }
    const begin = async (): Promise<string> => {
      const { id } = await scene.start()
      await scene.look(id)
      const errand = await claimOne(scene, 'promote')
      expect(errand.work).toMatchObject({ action: 'pr' })
      await scene.answer(errand.id, { ...MADE, pull })
      expect(await scene.look(id)).toMatchObject({
        status: 'suspended',
        why: `Waits for the pull request ${pull.url} to be merged.`,
        steps: [{ state: 'suspended', promotions: [{ state: 'suspended', pull }] }],
      })
      return id
    }
    const merged = await begin()
    expect(await scene.claim()).toEqual([])
    for (const state of ['open', 'merged'] as const) {
      scene.clock.advance(10_000)
      const errand = await claimOne(scene, 'pull')
      expect(errand.work).toMatchObject({ number: 7 })
      await scene.answer(errand.id, { kind: 'pull', state, ...(state === 'merged' && { revision: COMMIT }) })
      expect((await scene.look(merged)).status).toBe(state === 'open' ? 'suspended' : 'running')
    }
    await scene.report('production', at(COMMIT))
    expect(await scene.look(merged)).toMatchObject({ status: 'succeeded', steps: [{ promotions: [{ revision: COMMIT, pull }] }] })
    const closed = await begin()
    scene.clock.advance(10_000)
    await scene.answer((await claimOne(scene, 'pull')).id, { kind: 'pull', state: 'closed' })
    expect(await scene.look(closed)).toMatchObject({
      status: 'failed',
      why: `production: The pull request ${pull.url} was closed and not merged.`,
    })
  })

  test('a release is terminated at once, except for a change that an app-proxy has begun (O070)', async () => {
    await using scene = await openReleases(database)
    await put(scene.app, 'far', { environment: { clusters: [{ namespaces: ['far'] }] } })
    await put(scene.app, 'main', {
      flow: {
        triggerEnvironment: 'staging',
        steps: [{ environment: 'production' }, { environment: 'far', dependsOn: ['production'] }],
      },
    })
    const waiting = await scene.start()
    await scene.look(waiting.id)
    await terminateRelease(scene.app, waiting.id, 'ada')
    expect(await scene.look(waiting.id)).toMatchObject({
      status: 'terminated',
      why: 'ada has terminated it.',
      steps: [{ state: 'terminated' }, { state: 'skipped' }],
    })
    expect(await scene.claim()).toEqual([])

    const taken = await scene.start()
    await scene.look(taken.id)
    const { id } = await claimOne(scene, 'promote')
    await terminateRelease(scene.app, taken.id, 'ada')
    expect(await scene.look(taken.id)).toMatchObject({
      status: 'terminating',
      why: 'Waits for the app-proxy to finish a change that it has begun.',
    })
    await scene.answer(id, MADE)
    expect(await scene.look(taken.id)).toMatchObject({
      status: 'terminated',
      steps: [{ promotions: [{ state: 'terminated', revision: COMMIT }] }, { state: 'skipped' }],
    })

    const lost = await scene.start()
    await scene.look(lost.id)
    await claimOne(scene, 'promote')
    await terminateRelease(scene.app, lost.id, 'ada')
    await scene.look(lost.id)
    scene.clock.advance(ERRAND_LEASE_MS)
    expect((await scene.look(lost.id)).status).toBe('terminated')
  })

  test('releases of a product wait for each other, and a queue of 50 ends its oldest (O069)', async () => {
    await using scene = await openReleases(database)
    const first = await scene.start()
    await scene.look(first.id)
    const queued = []
    for (let n = 0; n < MAX_QUEUED; n += 1) queued.push((await scene.start()).id)
    const [second = '', third = ''] = queued
    expect(await scene.look(second)).toMatchObject({
      status: 'queued',
      number: 2,
      why: 'Waits for the release 1 of the product, which has not ended.',
    })
    expect(await scene.claim()).toHaveLength(1)
    await scene.start()
    expect(await scene.look(second)).toMatchObject({ status: 'terminated', why: 'More than 50 releases of the product wait.' })
    await terminateRelease(scene.app, first.id, 'ada')
    scene.clock.advance(ERRAND_LEASE_MS)
    await scene.look(first.id)
    expect(await scene.look(third)).toMatchObject({ status: 'running', number: 3 })
    await expect(deleteDefined(scene.app, 'product', 'shop')).rejects.toMatchObject({ code: 'conflict' })
  })

  test('a newer release of a product ends the earlier ones if the product says so (O069)', async () => {
    await using scene = await openReleases(database, { concurrency: 'terminate' })
    const first = await scene.start()
    await scene.look(first.id)
    const second = await scene.start()
    expect(await scene.look(second.id)).toMatchObject({ status: 'running' })
    expect(await scene.look(first.id)).toMatchObject({ status: 'terminated', why: 'A newer release of the product has begun.' })
    expect(await scene.claim()).toHaveLength(1)
  })

  test('a release is refused for an application that is not healthy, and fails if there is nothing to promote', async () => {
    await using scene = await openReleases(database)
    await scene.report('staging', { health: 'Degraded' })
    await expect(scene.start()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('degraded') })
    await scene.report('staging', at(NEW))
    await expect(scene.start({ from: 'production', to: 'nowhere' })).rejects.toMatchObject({ code: 'not-found' })
    await put(scene.app, 'empty', { environment: { clusters: [{ namespaces: ['empty'] }] } })
    const { id } = await scene.start({ from: 'staging', to: 'empty' })
    expect(await scene.look(id)).toMatchObject({
      status: 'failed',
      why: 'empty: The product has no application in the environment "empty".',
    })
    await expect(put(scene.app, 'other', { environment: { clusters: [{ namespaces: ['empty'] }] } })).rejects.toMatchObject({
      code: 'conflict',
    })
    await expect(deleteDefined(scene.app, 'environment', 'staging')).rejects.toMatchObject({
      message: expect.stringContaining('promotion flow "main"'),
    })
  })

  test('two servers that look at once ask for one change', async () => {
    await using scene = await openReleases(database)
    const { id } = await scene.start()
    await Promise.all([scene.look(id), scene.look(id), scene.look(id)])
    expect(await scene.claim()).toHaveLength(1)
  })
})

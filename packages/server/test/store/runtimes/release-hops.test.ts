/** Releases whose app-proxy is killed, silent for hours, or answers something else. */
import { PromotionPolicyInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { POLICIES, putDefined } from '../../../src/gitops/products/definitions.ts'
import { ERRAND_LEASE_MS } from '../../../src/gitops/releases/errands.ts'
import { listErrands } from '../../../src/store/runtimes/errands.ts'
import { at, NEW, openReleases, put, type ReleaseScene } from '../../support/release-scene.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

const COMMIT = 'c'.repeat(40)
const LATER = 'd'.repeat(40)
const MADE = { kind: 'promote', revision: COMMIT, isNew: true } as const
const UNREACHABLE = { kind: 'failed', code: 'forge-unreachable', message: 'git.test does not answer.', mayRetry: true } as const
const MINUTE_MS = 60_000

/** Starts a release and claims its change. */
async function begin(scene: ReleaseScene): Promise<{ readonly id: string; readonly errand: string }> {
  const { id } = await scene.start()
  await scene.look(id)
  return { id, errand: (await scene.claim())[0]?.id ?? 'none' }
}

describe.each(DATABASES)('releases on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('an app-proxy that is killed with a change and stays away is named', async () => {
    await using scene = await openReleases(database)
    const { id } = await begin(scene)
    expect((await scene.look(id)).why).toBeUndefined()
    scene.clock.advance(ERRAND_LEASE_MS + 31_000)
    expect((await scene.look(id)).why).toContain('Waits for the app-proxy of the GitOps runtime "prod", which has not asked')
  })

  test('a change that is begun again and again says so, and fails in the end', async () => {
    await using scene = await openReleases(database)
    const { id } = await begin(scene)
    scene.clock.advance(ERRAND_LEASE_MS)
    expect(await scene.claim()).toHaveLength(1)
    expect((await scene.look(id)).why).toContain('has not finished this in time. It is tried again (try 2).')
    for (let tries = 3; tries <= 20; tries += 1) {
      scene.clock.advance(ERRAND_LEASE_MS)
      expect(await scene.claim()).toHaveLength(1)
    }
    expect((await scene.look(id)).status).toBe('running')
    scene.clock.advance(ERRAND_LEASE_MS)
    const failed = await scene.look(id)
    expect(failed.status).toBe('failed')
    expect(failed.why).toContain('has begun this 20 times, and has not finished it')
    expect(await scene.claim()).toEqual([])
  })

  test('an answer to another question fails the release', async () => {
    await using scene = await openReleases(database)
    const { id, errand } = await begin(scene)
    await scene.answer(errand, { kind: 'contains', contains: true })
    const failed = await scene.look(id)
    expect(failed).toMatchObject({ status: 'failed' })
    expect(failed.why).toContain('has answered another question than "promote"')
    expect(await listErrands(scene.app.store.query, id)).toEqual([])
  })

  test('a pull request is followed although its forge was away for hours', async () => {
    await using scene = await openReleases(database)
    const policy = PromotionPolicyInput.parse({ policy: { action: 'pr' } })
    await putDefined(scene.app, { kind: POLICIES, name: 'by-pr', spec: policy, by: 'tester' })
    const { id, errand } = await begin(scene)
    await scene.answer(errand, { ...MADE, revision: '', pull: { number: 7, url: 'https://git.test/acme/apps/pulls/7' } })
    await scene.look(id)
    for (let tries = 1; tries <= 25; tries += 1) {
      scene.clock.advance(MINUTE_MS)
      await scene.answer((await scene.claim())[0]?.id ?? 'none', UNREACHABLE)
      expect(await scene.look(id)).toMatchObject({ status: 'suspended', why: expect.stringContaining(`after ${tries} `) })
    }
    scene.clock.advance(MINUTE_MS)
    await scene.answer((await scene.claim())[0]?.id ?? 'none', { kind: 'pull', state: 'merged', revision: COMMIT })
    await scene.look(id)
    await scene.report('production', at(COMMIT))
    expect(await scene.look(id)).toMatchObject({ status: 'succeeded' })
  })

  test('a release that ends keeps no errand', async () => {
    await using scene = await openReleases(database)
    const { id, errand } = await begin(scene)
    await scene.answer(errand, MADE)
    await scene.report('production', at(LATER))
    await scene.look(id)
    expect(await listErrands(scene.app.store.query, id)).toHaveLength(1)
    // The question is not answered yet when the application has the commit.
    await scene.report('production', at(COMMIT))
    expect(await scene.look(id)).toMatchObject({ status: 'succeeded' })
    expect(await listErrands(scene.app.store.query, id)).toEqual([])
  })

  test('two applications that are the same component are refused: one of them would be chosen by chance', async () => {
    await using scene = await openReleases(database)
    const annotations = { 'windlass.io/component': 'shop', 'codefresh.io/product': 'shop' }
    await put(scene.app, 'staging', { environment: { clusters: [{ namespaces: ['staging', 'other'] }] } })
    await scene.report('staging', { annotations, ...at(NEW) })
    await scene.report('other', { annotations, ...at(NEW) })
    await expect(scene.start()).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('are both the component "shop"'),
    })
  })
})

/** Releases that commits start: which commits, when, and answers that are late, lost or repeated. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteDefined } from '../../../src/gitops/products/definitions.ts'
import { showProduct } from '../../../src/gitops/products/show-products.ts'
import { startAutomaticReleases } from '../../../src/gitops/releases/automatic.ts'
import { terminateRelease } from '../../../src/gitops/releases/change.ts'
import { ERRAND_LEASE_MS } from '../../../src/gitops/releases/errands.ts'
import { listReleasePage, showRelease } from '../../../src/gitops/releases/show-releases.ts'
import { removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { listReleaseTriggers } from '../../../src/store/runtimes/release-triggers.ts'
import { at, openReleases, put, type ReleaseScene } from '../../support/release-scene.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

const [FIRST, SECOND, THIRD] = ['1'.repeat(40), '2'.repeat(40), '3'.repeat(40)]
const AUTOMATIC = { promotionFlows: [{ name: 'main', gitTriggerSelectors: [] }] }

interface Releases {
  readonly scene: ReleaseScene
  /** Lets the server look at the products, as its loop does. */
  look(): Promise<void>
  /** Answers the open question for a folder: `commit` has changed it last. */
  say(commit: string, message?: string): Promise<void>
  /** Who started the releases, oldest first. */
  started(): Promise<string[]>
}

async function openAutomatic(scene: ReleaseScene): Promise<Releases> {
  const look = (): Promise<void> => startAutomaticReleases(scene.app)
  return {
    scene,
    look,
    async say(commit, message = 'feat: baskets\n\nMore of them.\n') {
      await look()
      const [errand, ...others] = await scene.claim()
      expect([errand?.work.kind, others]).toEqual(['last-change', []])
      await scene.answer(errand?.id ?? '', { kind: 'last-change', revision: commit, message })
      await look()
      await look()
    },
    async started() {
      const { items } = await listReleasePage(scene.app, { limit: 50 })
      return items.map(({ createdBy }) => createdBy).toReversed()
    },
  }
}

describe.each(DATABASES)('automatic releases on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('the first commit that is seen starts nothing, and the next one of the folder a release', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, started } = await openAutomatic(scene)
    await say(FIRST)
    expect(await started()).toEqual([])
    await scene.report('staging', at(SECOND))
    await say(SECOND)
    expect(await started()).toEqual([`commit ${SECOND.slice(0, 12)}`])
    const [release] = (await listReleasePage(scene.app, { limit: 1 })).items
    expect(release).toMatchObject({
      flow: 'main',
      from: 'staging',
      trigger: { application: 'prod/argocd/shop-staging', revision: SECOND, message: 'feat: baskets' },
    })
    // The release goes on as one that a user has started.
    await scene.look(release?.id ?? '')
    expect(await scene.claim()).toMatchObject([{ work: { kind: 'promote', source: { revision: SECOND } } }])
  })

  test('a commit of another folder starts nothing, and the folder is asked for once per commit of the repository', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND))
    await say(FIRST)
    await look()
    expect([await scene.claim(), await started()]).toEqual([[], []])
  })

  test('a release starts when all applications of the environment are healthy and synced, and the product says for what it waits', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', {
      status: { sync: { status: 'Synced', revision: SECOND }, health: { status: 'Degraded', message: 'crash loop' } },
    })
    await say(SECOND)
    expect(await started()).toEqual([])
    const { next } = await showProduct(scene.app, 'shop')
    expect(next).toMatchObject({
      revision: SECOND,
      why: expect.stringContaining('"prod/argocd/shop-staging" is degraded and synced'),
    })
    await scene.report('staging', at(SECOND))
    await look()
    expect(await started()).toHaveLength(1)
    expect((await showProduct(scene.app, 'shop')).next).toBeUndefined()
  })

  test('selectors choose the first flow that matches, and a commit that none matches is passed over', async () => {
    const fixes = { name: 'fixes', gitTriggerSelectors: [{ key: 'commitMessage', operator: 'In', values: ['fix:*'] }] }
    const branch = { name: 'main', gitTriggerSelectors: [{ key: 'gitRevision', operator: 'In', values: ['release/*'] }] }
    await using scene = await openReleases(database)
    await put(scene.app, 'fixes', { flow: { triggerEnvironment: 'staging', steps: [{ environment: 'production' }] } })
    await put(scene.app, 'shop', { product: { promotionFlows: [branch, fixes] } })
    const { say, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND))
    await say(SECOND, 'docs: fix: a word\n')
    expect([await started(), (await showProduct(scene.app, 'shop')).next]).toEqual([[], undefined])
    await scene.report('staging', at(THIRD))
    await say(THIRD, 'fix: the sum\n')
    const [release] = (await listReleasePage(scene.app, { limit: 1 })).items
    expect(release).toMatchObject({ flow: 'fixes', trigger: { message: 'fix: the sum' } })
  })

  test('a commit does not promote into an environment with promoters, and the product says so', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    const environment = { kind: 'PROD', position: 1, clusters: [{ namespaces: ['production'] }] }
    await put(scene.app, 'production', { environment: { ...environment, promoters: ['operators'] } })
    await say(FIRST)
    await scene.report('staging', at(SECOND))
    await say(SECOND)
    expect(await started()).toEqual([])
    expect((await showProduct(scene.app, 'shop')).next?.why).toContain('Only promoters promote into the environment "production"')
    await put(scene.app, 'production', { environment })
    await look()
    expect(await started()).toHaveLength(1)
  })

  test('a commit does not end a release that only promoters may end, and starts its own after it', async () => {
    await using scene = await openReleases(database)
    const { say, look, started } = await openAutomatic(scene)
    const environment = { kind: 'PROD', position: 1, clusters: [{ namespaces: ['production'] }] }
    await put(scene.app, 'production', { environment: { ...environment, promoters: ['operators'] } })
    await put(scene.app, 'qa', { environment: { clusters: [{ namespaces: ['qa'] }] } })
    await put(scene.app, 'early', { flow: { triggerEnvironment: 'staging', steps: [{ environment: 'qa' }] } })
    const promotionFlows = [{ name: 'main' }, { name: 'early', gitTriggerSelectors: [] }]
    await put(scene.app, 'shop', { product: { promotionFlows, concurrency: 'terminate' } })
    await say(FIRST)
    const { id } = await scene.start({ flow: 'main' })
    await scene.report('staging', at(SECOND))
    await say(SECOND)
    expect(await started()).toEqual(['ada'])
    expect((await showRelease(scene.app, id)).status).toBe('queued')
    const { next } = await showProduct(scene.app, 'shop')
    expect(next?.why).toContain('It would end the release 1, which promotes into the environment "production"')
    await terminateRelease(scene.app, id, 'ada')
    await look()
    expect(await started()).toEqual(['ada', `commit ${SECOND.slice(0, 12)}`])
  })

  test('two servers that look at the same time start one release', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', { status: { sync: { status: 'Synced', revision: SECOND }, health: { status: 'Progressing' } } })
    await say(SECOND)
    await scene.report('staging', at(SECOND))
    await Promise.all([look(), look(), look()])
    expect(await started()).toHaveLength(1)
  })

  test('a server that is overtaken by another one does not leave out an application', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { look, started } = await openAutomatic(scene)
    const destination = { server: 'https://kubernetes.default.svc', namespace: 'staging' }
    const reportOther = (revision: string): Promise<void> => scene.report('eu', { ...at(revision), spec: { destination } })
    const answerAll = async (revision: string, count: number): Promise<void> => {
      await look()
      const errands = await scene.claim()
      expect(errands).toHaveLength(count)
      for (const { id } of errands) await scene.answer(id, { kind: 'last-change', revision, message: 'feat' })
      await look()
    }
    await reportOther(FIRST)
    await answerAll(FIRST, 2)
    await scene.report('staging', at(SECOND, { health: { status: 'Progressing' } }))
    await answerAll(SECOND, 1)
    await scene.report('staging', at(SECOND))
    await reportOther(THIRD)
    await Promise.all([look(), look()])
    expect(await started()).toEqual([])
    await answerAll(THIRD, 1)
    await look()
    expect(await started()).toHaveLength(1)
  })

  test('a question that fails is asked again with its reason, and one whose app-proxy is killed too', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND))
    await look()
    const [asked] = await scene.claim()
    await scene.answer(asked?.id ?? '', { kind: 'failed', code: 'git-token-missing', message: 'No token.', mayRetry: false })
    await look()
    expect(await scene.claim()).toEqual([])
    expect((await showProduct(scene.app, 'shop')).unseen).toEqual([{ application: 'prod/argocd/shop-staging', why: 'No token.' }])
    scene.clock.advance(2_000)
    const [again] = await scene.claim()
    expect(again).toEqual(asked)
    scene.clock.advance(ERRAND_LEASE_MS)
    await say(SECOND)
    expect(await started()).toHaveLength(1)
    expect((await showProduct(scene.app, 'shop')).unseen).toBeUndefined()
  })

  test('a question about a commit that is gone is replaced by one about the commit that the application has now', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND))
    await look()
    const [asked] = await scene.claim()
    // A push with force has removed it.
    await scene.report('staging', at(THIRD))
    await scene.answer(asked?.id ?? '', { kind: 'failed', code: 'not-found', message: 'No such commit.', mayRetry: false })
    await look()
    await say(THIRD)
    expect(await started()).toEqual([`commit ${THIRD.slice(0, 12)}`])
  })

  test('a product that is deleted or no longer automatic is forgotten, and begins anew after that', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await put(scene.app, 'shop', { product: { promotionFlows: [{ name: 'main' }] } })
    await scene.report('staging', at(SECOND))
    await look()
    expect(await scene.claim()).toEqual([])
    await put(scene.app, 'shop', { product: AUTOMATIC })
    await say(SECOND)
    expect(await started()).toEqual([])
    await scene.report('staging', at(THIRD))
    await look()
    await deleteDefined(scene.app, 'product', 'shop')
    await look()
    expect([await scene.claim(), await started()]).toEqual([[], []])
  })

  test('the applications of a runtime that is deleted are forgotten', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { look } = await openAutomatic(scene)
    const known = (): Promise<unknown[]> => listReleaseTriggers(scene.app.store.query, scene.app.accountId)
    await look()
    expect(await known()).toHaveLength(1)
    await removeGitopsRuntime(scene.app, 'prod')
    await look()
    expect(await known()).toEqual([])
  })

  test('a commit that is known starts its release while the app-proxy looks at a newer one', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND, { health: { status: 'Progressing' } }))
    await say(SECOND)
    await scene.report('staging', at(THIRD))
    await look()
    expect(await started()).toHaveLength(1)
    await say(SECOND)
    expect(await started()).toHaveLength(1)
  })

  test('a newer commit that a release has promoted already starts no second one', async () => {
    await using scene = await openReleases(database, AUTOMATIC)
    const { say, look, started } = await openAutomatic(scene)
    await say(FIRST)
    await scene.report('staging', at(SECOND, { health: { status: 'Progressing' } }))
    await say(SECOND)
    await scene.report('staging', at(THIRD))
    await look()
    const [release] = (await listReleasePage(scene.app, { limit: 1 })).items
    await say(THIRD)
    expect(await started()).toHaveLength(1)
    await scene.look(release?.id ?? '')
    expect(await scene.claim()).toMatchObject([{ work: { kind: 'promote', source: { revision: THIRD } } }])
    // The next one does.
    await scene.report('staging', at('4'.repeat(40)))
    await say('4'.repeat(40))
    expect(await started()).toHaveLength(2)
  })
})

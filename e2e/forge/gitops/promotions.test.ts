/** Releases of a product at a real forge: the app-proxy of the runtime changes Git, and applications are reported as Argo CD would after each change. */
import { systemClock } from '@windlass/kit'
import type { Release } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoredTrigger } from '../../../packages/server/src/gitops/releases/stored-trigger.ts'
import { listReleaseTriggers } from '../../../packages/server/src/store/runtimes/release-triggers.ts'
import { argoApplication, event, openReporter } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { openGitopsScene, type GitopsScene } from './gitops-scene.ts'

let at: GitopsScene
let version = 0
const TEMPLATE = {
  versionSource: { file: 'values.yaml', jsonPath: '$.image.tag' },
  promotion: { 'values.yaml': { jsonPaths: ['$.image.tag'] } },
}

beforeAll(async () => {
  at = await openGitopsScene()
  for (const [environment, tag, replicas] of [
    ['staging', '1.4.0', 1],
    ['production', '1.3.0', 5],
  ] as const) {
    await at.write(
      'apps',
      `${environment}/values.yaml`,
      `# of ${environment}\nimage:\n  tag: "${tag}" # set by releases\nreplicas: ${replicas}\n`,
    )
  }
  await at.server.admin.environments.put('staging', { clusters: [{ namespaces: ['staging'] }] })
  await at.server.admin.environments.put('production', { kind: 'PROD', position: 1, clusters: [{ namespaces: ['production'] }] })
  await at.server.admin.promotionFlows.put('main', { triggerEnvironment: 'staging', steps: [{ environment: 'production' }] })
  await at.server.admin.products.put('shop', { promotionFlows: [{ name: 'main' }], promotionTemplate: TEMPLATE })
})
afterAll(() => at[Symbol.asyncDispose]())

/** Reports an application that is healthy and synced at the last commit of the repository, as Argo CD would after a sync. */
async function sync(environment: string): Promise<string> {
  const revision = (await at.inClone('apps', 'rev-parse', 'HEAD')).trim()
  version += 1
  const application = argoApplication(`shop-${environment}`, {
    version,
    annotations: { 'codefresh.io/product': 'shop' },
    spec: {
      source: { repoURL: `${at.url}/ann/apps`, path: environment, targetRevision: environment === 'staging' ? 'main' : 'HEAD' },
      destination: { server: 'https://kubernetes.default.svc', namespace: environment },
    },
    status: { sync: { status: 'Synced', revision } },
  })
  await openReporter(at.server, at.runtimeToken)({ data: event(application, systemClock.now()) })
  return revision
}

async function settle(id: string, wanted: Partial<Release>): Promise<Release> {
  await expect.poll(() => at.server.admin.releases.get(id), { timeout: 60_000 }).toMatchObject(wanted)
  return at.server.admin.releases.get(id)
}

const commits = async (): Promise<number> => Number(await at.inClone('apps', 'rev-list', '--count', 'HEAD'))

test('without a Git token of the runtime a release fails and says what an admin does; only admins register one', async () => {
  await sync('staging')
  await sync('production')
  const started = await at.server.admin.products.release('shop', {})
  const failed = await settle(started.id, { status: 'failed' })
  expect(failed.why).toContain('windlass gitops integration register RUNTIME default --token-file FILE --runtime-token')
  const register = (by: string): ReturnType<typeof at.call> =>
    at.call('PUT', '/git-integrations/default/runtime-token', { by, body: { token: at.ann.token } })
  expect(await register(at.keys.ben)).toMatchObject({ status: 403, body: { right: 'manage-gitops' } })
  expect(await register(at.keys.ada)).toMatchObject({ status: 200, body: { login: 'ann' } })
  const { body } = await at.call('GET', '/git-integrations/default')
  expect(body).toMatchObject({ hasRuntimeToken: true })
  // The runtime is not one of the users.
  expect(JSON.stringify(body)).not.toContain('"runtime"')
})

test('a promotion from staging to production is one commit with the new value, and succeeds when the application is synced and healthy (O063, O064)', async () => {
  const before = await commits()
  const { stdout } = await at.windlass('gitops promote shop')
  const id = /release\/([0-9a-f]{24}) started/.exec(stdout)?.[1] ?? ''
  const syncing = await settle(id, { status: 'running', version: '1.4.0' })
  await expect.poll(async () => (await at.server.admin.releases.get(id)).steps[0]?.promotions[0]?.state).toBe('syncing')
  expect(syncing.number).toBe(2)
  expect(await commits()).toBe(before + 1)
  const text = await at.inClone('apps', 'show', 'HEAD:production/values.yaml')
  expect(text).toBe('# of production\nimage:\n  tag: "1.4.0" # set by releases\nreplicas: 5\n')
  expect(await at.inClone('apps', 'show', '--format=', '--name-only', 'HEAD')).toBe('production/values.yaml\n')
  const message = await at.inClone('apps', 'log', '-1', '--format=%B')
  expect(message).toContain('Promote shop to prod/argocd/shop-production\n\nRelease 2 of shop, from prod/argocd/shop-staging at ')
  expect(message).toContain('Promoted-by: ada')
  const revision = (await at.inClone('apps', 'rev-parse', 'HEAD')).trim()
  expect(syncing.steps[0]?.promotions[0]).toMatchObject({ revision, isNew: true })
  // Somebody else commits before Argo CD looks, so the application has a later commit, whose history has the change.
  await at.write('apps', 'production/other.yaml', 'a: 1\n')
  await sync('production')
  await settle(id, { status: 'succeeded' })
  const described = await at.windlass(`describe release ${id}`)
  expect(described.stdout).toContain(`production (PROD): succeeded`)
  expect(described.stdout).toContain(revision.slice(0, 12))
  expect((await at.windlass('get releases --product shop --status succeeded -o name')).stdout).toBe(`release/${id}\n`)
})

test('the same values again make no commit', async () => {
  await sync('staging')
  const before = await commits()
  const { id } = await at.server.admin.products.release('shop', {})
  expect(await settle(id, { status: 'succeeded' })).toMatchObject({ steps: [{ promotions: [{ isNew: false }] }] })
  expect(await commits()).toBe(before)
})

test('a commit whose answer is lost is made once, also by the app-proxy that comes next', async () => {
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.5.0"\n')
  await sync('staging')
  const before = await commits()
  let pushes = 0
  at.afterPush = async () => {
    pushes += 1
    // The process is gone before it learns of its push.
    if (pushes === 1) throw new Error('cut')
  }
  const { id } = await at.server.admin.products.release('shop', {})
  await expect
    .poll(async () => (await at.server.admin.releases.get(id)).steps[0]?.promotions[0]?.state, { timeout: 60_000 })
    .toBe('syncing')
  at.afterPush = async () => undefined
  expect(await commits()).toBe(before + 1)
  const revision = (await at.inClone('apps', 'rev-parse', 'HEAD')).trim()
  expect((await at.server.admin.releases.get(id)).steps[0]?.promotions[0]).toMatchObject({ revision, isNew: true })
  await sync('production')
  await settle(id, { status: 'succeeded' })
})

test('an app-proxy that stops after its push leaves the commit to the next one, which finds it', async () => {
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.5.1"\n')
  await sync('staging')
  const before = await commits()
  const { promise: isPushed, resolve: pushed } = Promise.withResolvers<void>()
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
  at.afterPush = async () => {
    pushed()
    await isOver
  }
  const { id } = await at.server.admin.products.release('shop', {})
  await isPushed
  await at.scene.restart()
  at.afterPush = async () => undefined
  end()
  await expect.poll(async () => (await at.server.admin.releases.get(id)).steps[0]?.promotions[0]?.state).toBe('syncing')
  expect(await commits()).toBe(before + 1)
  const revision = (await at.inClone('apps', 'rev-parse', 'HEAD')).trim()
  expect((await at.server.admin.releases.get(id)).steps[0]?.promotions[0]).toMatchObject({ revision, isNew: true })
  await sync('production')
  await settle(id, { status: 'succeeded' })
})

test('a promotion by pull request waits until it is merged, and is one pull request (O065)', async () => {
  await at.server.admin.promotionPolicies.put('prod', {
    selector: { targetEnvironment: { types: ['PROD'] } },
    policy: { action: 'pr' },
  })
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.6.0"\n')
  await sync('staging')
  const before = await commits()
  const { id } = await at.server.admin.products.release('shop', {})
  const suspended = await settle(id, { status: 'suspended' })
  const pull = suspended.steps[0]?.promotions[0]?.pull
  expect(suspended.why).toBe(`Waits for the pull request ${pull?.url} to be merged.`)
  expect(await commits()).toBe(before)
  const open = (await at.ann.api('GET', '/repos/ann/apps/pulls?state=open')) as {
    number: number
    title: string
    base: { ref: string }
  }[]
  expect(open).toMatchObject([
    { number: pull?.number, title: 'Promote shop to prod/argocd/shop-production', base: { ref: 'main' } },
  ])
  await at.ann.api('POST', `/repos/ann/apps/pulls/${pull?.number}/merge`, { Do: 'squash' })
  await expect
    .poll(async () => (await at.server.admin.releases.get(id)).steps[0]?.promotions[0]?.state, { timeout: 60_000 })
    .toBe('syncing')
  expect(await at.inClone('apps', 'show', 'HEAD:production/values.yaml')).toContain('tag: "1.6.0"')
  await sync('production')
  await settle(id, { status: 'succeeded' })
  expect((await at.windlass('get products')).stdout).toMatch(/shop +staging=1,production=1/)
  expect(at.scene.leftovers()).toEqual([])
  expect(at.scene.lines.join('\n')).not.toContain(at.ann.token)
})

test('a pull request with a merge commit has arrived although others have changed other folders since', async () => {
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.6.1"\n')
  await sync('staging')
  const { id } = await at.server.admin.products.release('shop', {})
  const { steps } = await settle(id, { status: 'suspended' })
  await at.ann.api('POST', `/repos/ann/apps/pulls/${steps[0]?.promotions[0]?.pull?.number}/merge`, { Do: 'merge' })
  await settle(id, { status: 'running' })
  await at.write('apps', 'other/a.yaml', 'a: 1\n')
  await sync('production')
  await settle(id, { status: 'succeeded' })
})

test('values that are there already have arrived although others have changed other folders since', async () => {
  await at.write('apps', 'other/a.yaml', 'a: 2\n')
  const { id } = await at.server.admin.products.release('shop', {})
  await settle(id, { status: 'running', why: expect.stringContaining('to see the commit') })
  await at.write('apps', 'other/a.yaml', 'a: 3\n')
  await sync('production')
  expect(await settle(id, { status: 'succeeded' })).toMatchObject({ steps: [{ promotions: [{ isNew: false }] }] })
})

test('a pull request that is closed fails its release', async () => {
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.7.0"\n')
  await sync('staging')
  const { id } = await at.server.admin.products.release('shop', {})
  const { steps } = await settle(id, { status: 'suspended' })
  const pull = steps[0]?.promotions[0]?.pull
  await at.ann.api('PATCH', `/repos/ann/apps/pulls/${pull?.number}`, { state: 'closed' })
  expect((await settle(id, { status: 'failed' })).why).toContain('was closed and not merged')
})

test('a commit of the folder from which is promoted starts a release by itself, and one of another folder does not (O064)', async () => {
  const product = { promotionTemplate: TEMPLATE, concurrency: 'terminate' as const }
  await at.server.admin.promotionPolicies.put('by-commit', { priority: 1, selector: {}, policy: { action: 'commit' } })
  const selector = { key: 'commitMessage' as const, operator: 'NotIn' as const, values: ['[no release]'] }
  await at.server.admin.products.put('shop', { ...product, promotionFlows: [{ name: 'main', gitTriggerSelectors: [selector] }] })
  const last = async (): Promise<Release | undefined> =>
    (await at.server.admin.releases.list({ query: { product: 'shop', limit: 1 } })).items[0]
  const before = await last()
  // The first commit that the product sees starts nothing.
  const { store, accountId } = at.server.server.app
  const known = async (): Promise<boolean[]> =>
    (await listReleaseTriggers(store.query, accountId)).map(({ state }) => StoredTrigger.parse(JSON.parse(state)).commit !== '')
  await expect.poll(known).toEqual([true])
  await at.write('apps', 'other/a.yaml', 'a: 4\n')
  await sync('staging')
  await at.write('apps', 'staging/values.yaml', 'image:\n  tag: "1.9.0"\n')
  const revision = await sync('staging')
  await expect.poll(async () => (await last())?.trigger, { timeout: 60_000 }).toMatchObject({ revision })
  const started = await last()
  expect(started?.number).toBe((before?.number ?? 0) + 1)
  await expect
    .poll(() => at.inClone('apps', 'show', 'HEAD:production/values.yaml'), { timeout: 60_000 })
    .toContain('tag: "1.9.0"')
  // The commit of the release is in the same repository, and starts none.
  await sync('staging')
  await sync('production')
  await settle(started?.id ?? '', { status: 'succeeded', createdBy: `commit ${revision.slice(0, 12)}` })
  expect((await at.windlass('describe product shop')).stdout).toContain('main (automatic)')
  expect((await last())?.id).toBe(started?.id)
})

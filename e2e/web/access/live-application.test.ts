/** The page of an application with its runtime: a real server, tunnel, router and app-proxy. The cluster and Argo CD are played, see `argo-cluster.ts`. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { argoApplication, COMMIT, event, openReporter } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { auditLooks, AXE } from '../support/audit.ts'
import { openPage } from '../support/chromium.ts'
import { openRuntimeScene, TUNNELS, type RuntimeScene } from '../support/runtime-scene.ts'
import { show } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const PATH = '/delivery/apps/prod/argocd/shop'
const EARLIER = '89abcdef0123456789abcdef0123456789abcdef'
const SECRET = 'c3VwZXItc2VjcmV0'

let web: WebScene
let runtime: RuntimeScene

beforeAll(async () => {
  web = await openWebScene({ tunnels: TUNNELS })
  runtime = await openRuntimeScene(web.server)
})
afterAll(async () => {
  await runtime?.[Symbol.asyncDispose]()
  await web?.[Symbol.asyncDispose]()
})

const deployment = (status: string, health: string): object => ({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  namespace: 'shop',
  name: 'front',
  status,
  health: { status: health },
})
const RESOURCES = [
  deployment('OutOfSync', 'Healthy'),
  { version: 'v1', kind: 'Service', namespace: 'shop', name: 'front', status: 'Synced', health: { status: 'Healthy' } },
  { version: 'v1', kind: 'Secret', namespace: 'shop', name: 'db', status: 'OutOfSync' },
]
const deployed = (id: number, revision: string): object => ({
  id,
  revision,
  deployedAt: `2027-01-1${id}T09:00:00Z`,
  initiatedBy: { username: 'mara' },
  source: { repoURL: 'https://git.test/acme/shop.git', path: 'shop' },
})

beforeEach(async () => {
  const { cluster } = runtime
  cluster.operations.length = 0
  cluster.refreshes.length = 0
  cluster.put(
    argoApplication('shop', {
      sync: 'OutOfSync',
      spec: { syncPolicy: {} },
      status: { resources: RESOURCES, history: [deployed(1, EARLIER), deployed(2, COMMIT)] },
    }),
  )
  cluster.answers.set('resource-tree', {
    nodes: [
      { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'front', uid: 'd', health: { status: 'Healthy' } },
      {
        group: 'apps',
        kind: 'ReplicaSet',
        namespace: 'shop',
        name: 'front-5d',
        uid: 'r',
        parentRefs: [{ uid: 'd' }],
        health: { status: 'Healthy' },
        info: [{ name: 'Revision', value: 'Rev:2' }],
      },
      {
        kind: 'Pod',
        namespace: 'shop',
        name: 'front-5d-x2x4k',
        uid: 'p',
        parentRefs: [{ uid: 'r' }],
        health: { status: 'Degraded', message: 'the image cannot be pulled' },
      },
      { kind: 'Service', namespace: 'shop', name: 'front', uid: 's', health: { status: 'Healthy' } },
      { kind: 'Secret', namespace: 'shop', name: 'db', uid: 'x' },
    ],
  })
  const object = (replicas: number): string =>
    JSON.stringify({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'front' }, spec: { replicas } })
  const secret = (value: string): string =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db' }, data: { password: value, user: '++++++++' } })
  cluster.answers.set('managed-resources', {
    items: [
      {
        group: 'apps',
        kind: 'Deployment',
        namespace: 'shop',
        name: 'front',
        modified: true,
        liveState: object(1),
        targetState: object(3),
        normalizedLiveState: object(1),
        predictedLiveState: object(3),
      },
      { kind: 'Service', namespace: 'shop', name: 'front', modified: false, liveState: '{}', targetState: '{}' },
      { kind: 'Secret', namespace: 'shop', name: 'db', liveState: 'null', targetState: secret(SECRET) },
    ],
  })
  await runtime.report('shop')
})

const dialogOf = (page: Page) => page.getByRole('dialog')
const commandIn = (page: Page): Promise<string | null> => dialogOf(page).locator('code').textContent()

test('an application is synced with options and selected objects, and the sync is followed to its end (W102)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  await page.getByRole('button', { name: 'Sync', exact: true }).and(page.locator(':not([aria-disabled])')).click()
  const dialog = dialogOf(page)
  await dialog.getByRole('heading', { name: 'Sync shop' }).waitFor()
  expect(await commandIn(page)).toBe('windlass gitops app sync prod shop --wait')
  await dialog.getByLabel('Revision').fill('v2')
  for (const option of ['Prune', 'Dry run', 'Force', 'Apply only']) await dialog.getByLabel(new RegExp(`^${option}:`)).check()
  await dialog.getByLabel('Objects', { exact: true }).selectOption('chosen')
  await dialog.getByRole('checkbox', { name: 'Service/shop/front' }).waitFor()
  expect(await dialog.getByRole('button', { name: 'Check the sync' }).getAttribute('aria-description')).toBe(
    'No object is selected.',
  )
  await dialog.getByRole('checkbox', { name: 'Deployment.apps/shop/front' }).check()
  expect(await commandIn(page)).toBe(
    'windlass gitops app sync prod shop --revision v2 --prune --dry-run --force --apply-only --resource Deployment.apps/shop/front --wait',
  )
  await dialog.getByRole('button', { name: 'Check the sync' }).click()
  await dialog.waitFor({ state: 'detached' })
  const operation = page.getByRole('region', { name: 'Sync in progress' })
  await operation.getByText('Running', { exact: true }).first().waitFor()
  expect(runtime.cluster.operations).toMatchObject([
    {
      revision: 'v2',
      prune: true,
      dryRun: true,
      syncStrategy: { apply: { force: true } },
      resources: [{ group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'front' }],
    },
  ])
  expect(await page.getByRole('button', { name: 'Sync', exact: true }).getAttribute('aria-description')).toBe(
    'Another operation of the application is in progress.',
  )
  runtime.cluster.finish('shop', {
    phase: 'Succeeded',
    message: 'successfully synced (all tasks run)',
    syncResult: {
      revision: COMMIT,
      resources: [
        {
          group: 'apps',
          kind: 'Deployment',
          namespace: 'shop',
          name: 'front',
          status: 'Synced',
          message: 'configured (dry run)',
        },
      ],
    },
  })
  await page.getByText('The sync of shop: succeeded.').waitFor()
  const last = page.getByRole('region', { name: 'Last sync' })
  await last.getByText('successfully synced (all tasks run)').waitFor()
  await last.getByText('Results by object (1)').click()
  await last.getByText('configured (dry run)').waitFor()
  expect(seen).toEqual([])
})

test('a sync of what is out of sync names these objects, and one that runs is ended (W102)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  await page.getByRole('button', { name: 'Sync', exact: true }).and(page.locator(':not([aria-disabled])')).click()
  await dialogOf(page).getByLabel('Objects', { exact: true }).selectOption('out-of-sync')
  expect(await commandIn(page)).toBe('windlass gitops app sync prod shop --out-of-sync --wait')
  await dialogOf(page).getByRole('button', { name: 'Sync', exact: true }).click()
  await page.getByRole('button', { name: 'Terminate the sync' }).click()
  expect(runtime.cluster.operations[0]?.['resources']).toEqual([
    { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'front' },
    { group: '', kind: 'Secret', namespace: 'shop', name: 'db' },
  ])
  expect(await commandIn(page)).toBe('windlass gitops app terminate prod shop --wait')
  await dialogOf(page).getByRole('button', { name: 'Terminate the sync' }).click()
  await page.getByRole('region', { name: 'Last sync' }).getByText('Operation terminated').waitFor()
  await page.getByText('The sync of shop: failed. Operation terminated').waitFor()
  expect(seen).toEqual([])
})

test('a refresh and a hard refresh wait for the comparison, and a refusal is shown in its words (W102)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  const refresh = page.getByRole('button', { name: 'Refresh', exact: true })
  await refresh.and(page.locator(':not([aria-disabled])')).click()
  expect(await commandIn(page)).toBe('windlass gitops app refresh prod shop')
  await dialogOf(page).getByRole('button', { name: 'Refresh', exact: true }).click()
  await page.getByText('shop is refreshed: Healthy, out of sync.').waitFor()
  await refresh.click()
  await dialogOf(page)
    .getByLabel(/^Hard refresh:/)
    .check()
  expect(await commandIn(page)).toBe('windlass gitops app refresh prod shop --hard')
  await dialogOf(page).getByRole('button', { name: 'Hard refresh' }).click()
  await dialogOf(page).waitFor({ state: 'detached' })
  expect(runtime.cluster.refreshes).toEqual(['normal', 'hard'])
  // Somebody else starts a sync while the dialog is open.
  await page.getByRole('button', { name: 'Sync', exact: true }).click()
  const before = await web.server.admin.applications.live('prod/argocd/shop')
  await page.route('**/live', (route) => route.fulfill({ json: before }))
  runtime.cluster.change('shop', (app) => {
    app.status.operationState = { phase: 'Running', operation: {}, startedAt: new Date().toISOString() }
  })
  await dialogOf(page).getByRole('button', { name: 'Sync', exact: true }).click()
  await dialogOf(page).getByRole('alert').getByText('Another operation of the application "shop" is in progress.').waitFor()
  expect(seen).toEqual([])
})

test('an earlier deployment is applied again, unless Argo CD syncs by itself, which the page says (W103)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`${PATH}/history`)
  const rows = page.getByRole('region', { name: 'Deployments' }).getByRole('row')
  await rows.nth(1).getByText('2, the last one').waitFor()
  await rows.nth(2).getByText('89abcdef').waitFor()
  await rows.nth(2).getByText('mara').waitFor()
  await page.getByRole('button', { name: 'Roll back to deployment 1' }).click()
  await dialogOf(page)
    .getByLabel(/^Prune:/)
    .check()
  expect(await commandIn(page)).toBe('windlass gitops app rollback prod shop --id 1 --prune --wait')
  await dialogOf(page).getByRole('button', { name: 'Roll back' }).click()
  await dialogOf(page).waitFor({ state: 'detached' })
  await expect.poll(() => runtime.cluster.operations).toMatchObject([{ revision: EARLIER, prune: true }])
  runtime.cluster.finish('shop', { phase: 'Succeeded' })
  await page.getByText('The sync of shop: succeeded.').waitFor()
  runtime.cluster.change('shop', (app) => {
    app.spec['syncPolicy'] = { automated: {} }
  })
  await runtime.report('shop')
  await page.getByText('Argo CD syncs the application by itself, and would undo a rollback.').first().waitFor()
  const off = page.getByRole('button', { name: 'Roll back to deployment 1' })
  expect(await off.getAttribute('aria-disabled')).toBe('true')
  expect(await off.getAttribute('aria-description')).toContain('would undo a rollback')
  expect(seen).toEqual([])
})

test('objects are a tree with those that they have created; it is filtered by state, folded by keyboard, and live (W104)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  const table = page.getByRole('region', { name: 'Resources' })
  const rows = table.getByRole('row')
  await expect.poll(() => rows.count()).toBe(6)
  await rows.nth(3).getByText('front-5d-x2x4k').waitFor()
  await rows.nth(3).getByText('the image cannot be pulled').waitFor()
  await rows.nth(3).getByText(', created by ReplicaSet/shop/front-5d').waitFor()
  await rows.nth(2).getByText('Revision: Rev:2').waitFor()
  await rows.nth(1).getByText('Out of sync').waitFor()
  const fold = page.getByRole('button', { name: 'Objects of Deployment/shop/front' })
  await fold.focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => rows.count()).toBe(4)
  expect(await fold.getAttribute('aria-expanded')).toBe('false')
  await page.keyboard.press('Space')
  await expect.poll(() => rows.count()).toBe(6)
  const states = page.getByRole('group', { name: 'State' })
  await states.getByRole('button', { name: 'Degraded 1' }).click()
  await expect.poll(() => rows.count()).toBe(4)
  expect(new URL(page.url()).search).toBe('?state=degraded')
  await page.getByText('windlass gitops app tree prod shop').waitFor()
  const nodes = structuredClone(runtime.cluster.answers.get('resource-tree')) as { nodes: { health?: { status: string } }[] }
  for (const node of nodes.nodes) if (node.health !== undefined) node.health = { status: 'Healthy' }
  runtime.cluster.answers.set('resource-tree', nodes)
  runtime.cluster.change('shop', () => undefined)
  await runtime.report('shop')
  await page.getByText('No resource has the state Degraded.').waitFor()
  await page.getByRole('button', { name: 'Show all resources' }).click()
  await expect.poll(() => rows.count()).toBe(6)
  runtime.cluster.answers.set('resource-tree', 403)
  runtime.cluster.change('shop', () => undefined)
  await runtime.report('shop')
  await page.getByText('Only the objects of the source are shown. Argo CD: permission denied: applications, get').waitFor()
  await expect.poll(() => rows.count()).toBe(4)
  expect(seen).toEqual([])
})

test('what a sync would change is shown for each object, and no value of a Secret reaches the page (W105)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  const bodies: Promise<string>[] = []
  page.on('response', (response) => {
    if (response.url().endsWith('/diff')) bodies.push(response.text())
  })
  await page.goto(PATH)
  await page.getByRole('navigation', { name: 'Parts of the application' }).getByRole('link', { name: 'Differences' }).click()
  await page.getByText('A sync would change 2 objects.').waitFor()
  const diff = page.getByRole('region', { name: 'What differs in Deployment/shop/front' })
  await diff.getByText('-  replicas: 1').waitFor()
  await diff.getByText('+  replicas: 3').waitFor()
  const secret = page.getByRole('region', { name: 'What differs in Secret/shop/db' })
  await secret.getByText('+  password: (hidden)').waitFor()
  await secret.getByText('+  user: ++++++++').waitFor()
  await page.getByText('would be created').waitFor()
  expect((await Promise.all(bodies)).join('')).toContain('(hidden)')
  expect((await Promise.all(bodies)).join('') + (await page.content())).not.toContain(SECRET)
  const toggle = page.getByRole('button', { name: 'Hide what differs in Secret/shop/db' })
  await toggle.focus()
  await page.keyboard.press('Enter')
  await secret.waitFor({ state: 'detached' })
  await page.getByText('windlass gitops app diff prod shop').waitFor()
  runtime.cluster.answers.set('managed-resources', { items: [] })
  runtime.cluster.change('shop', () => undefined)
  await runtime.report('shop')
  await page.getByText('The cluster has what the source says.').waitFor()
  expect(seen).toEqual([])
})

const POD = 'Pod/shop/front-5d-x2x4k'
const UID = '5d6f0c1e-8b1a-4b9e-9d43-0f6f2a1b3c4d'
/** Lines that were written `from` seconds ago and later, one in each millisecond. */
const linesOf = (from: number, texts: readonly string[]): { at: string; text: string }[] => {
  const start = Date.now() - from * 1000
  return texts.map((text, index) => ({ at: new Date(start + index).toISOString().replace('Z', '000001Z'), text }))
}

/** The pod has a manifest with two containers, events, and logs. */
function playPod(): void {
  const { answers, logs } = runtime.cluster
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'front-5d-x2x4k', uid: UID, managedFields: [{ manager: 'kubelet' }] },
    spec: { containers: [{ name: 'main' }, { name: 'proxy' }], initContainers: [{ name: 'prepare' }] },
  }
  answers.set('resource', (query) => (query.get('kind') === 'Pod' ? { manifest: JSON.stringify(manifest) } : 404))
  const backOff = {
    type: 'Warning',
    reason: 'BackOff',
    message: 'Back-off pulling image',
    count: 7,
    lastTimestamp: '2027-01-15T09:00:00Z',
  }
  answers.set('events', (query) => ({ items: query.get('resourceUID') === UID ? [backOff] : [] }))
  logs.set('front-5d-x2x4k/main', linesOf(60, ['\u001B[32mstarted\u001B[0m', 'GET /healthz', 'GET /cart']))
  logs.set('front-5d-x2x4k/proxy', linesOf(60, ['proxy ready']))
}

test('an object opens beside the page with its manifest, events and differences, by keyboard, and has an address (W110)', async () => {
  playPod()
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  const link = page.getByRole('region', { name: 'Resources' }).getByRole('link', { name: 'Pod front-5d-x2x4k' })
  await link.focus()
  await page.keyboard.press('Enter')
  const drawer = dialogOf(page)
  await drawer.getByRole('heading', { name: POD }).waitFor()
  const yaml = drawer.getByRole('region', { name: 'Manifest in YAML' })
  await yaml.getByText('initContainers:').waitFor()
  expect(await yaml.textContent()).not.toContain('managedFields')
  expect(await commandIn(page)).toBe(`windlass gitops app manifest prod shop ${POD}`)
  await drawer.getByRole('link', { name: 'Events' }).click()
  const row = drawer.getByRole('region', { name: 'Events' }).getByRole('row').nth(1)
  await row.getByText('BackOff').waitFor()
  await row.getByText('7', { exact: true }).waitFor()
  expect(await commandIn(page)).toBe(`windlass gitops app events prod shop ${POD}`)
  expect(new URL(page.url()).searchParams.get('view')).toBe('events')
  await drawer.getByRole('link', { name: 'Differences' }).click()
  await drawer.getByText('A sync would not change the object.').waitFor()
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('')
  await page.goto(`${PATH}?object=${encodeURIComponent('Deployment.apps/shop/front')}&view=diff`)
  await drawer.getByText('+  replicas: 3').waitFor()
  expect(await drawer.getByRole('link', { name: 'Logs' }).count()).toBe(0)
  expect(seen).toEqual([])
})

test('the log of a pod is followed without a doubled or lost line over a broken connection, and says where it is not sure (W111)', async () => {
  playPod()
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(`${PATH}?object=${encodeURIComponent(POD)}&view=logs`)
  const drawer = dialogOf(page)
  const lines = drawer.getByRole('list', { name: 'Lines of the log' }).getByRole('listitem')
  const texts = async (): Promise<string[]> => (await lines.allTextContents()).map((text) => text.replace(/^\d\d:\d\d:\d\d/, ''))
  await expect.poll(texts).toEqual(['started', 'GET /healthz', 'GET /cart'])
  const log = 'front-5d-x2x4k/main'
  const written = runtime.cluster.logs.get(log) ?? []
  const again = linesOf(1, ['GET /pay', 'GET /pay'])
  const message = 'The connection to the GitOps runtime ended during the call.'
  const ended = {
    type: 'urn:windlass:fault:tunnel-broken',
    title: message,
    status: 502,
    detail: message,
    message,
    code: 'tunnel-broken',
  }
  await page.route(/\/logs\?/, (route) => route.fulfill({ status: 502, contentType: 'application/problem+json', json: ended }), {
    times: 1,
  })
  await drawer.getByText('No new lines come at the moment. The connection to the GitOps runtime ended during the call.').waitFor()
  runtime.cluster.logs.set(log, [...written, ...again])
  await expect.poll(texts).toEqual(['started', 'GET /healthz', 'GET /cart', 'GET /pay', 'GET /pay'])
  await drawer.getByText('5 lines, followed.').waitFor()
  // The container is started again: its log has only new lines.
  runtime.cluster.logs.set(log, linesOf(0, ['started again']))
  const gap = 'Lines may be missing here: the container was started again, or its log was rotated.'
  await expect.poll(async () => (await texts()).slice(-2)).toEqual([gap, 'started again'])
  await drawer.getByRole('button', { name: 'Stop following' }).click()
  await drawer.getByLabel('Filter').fill('PAY')
  await expect.poll(texts).toEqual(['GET /pay', 'GET /pay', gap])
  const stored = page.waitForEvent('download')
  await drawer.getByRole('button', { name: 'Download' }).click()
  const file = await stored
  expect(file.suggestedFilename()).toBe('front-5d-x2x4k-main.log')
  expect(await readFile(await file.path(), 'utf8')).toContain(`${again[1]?.at} GET /pay\n# ${gap}\n`)
  await drawer.getByLabel('Filter').fill('')
  await drawer.getByLabel('Container').selectOption('proxy')
  await expect.poll(texts).toEqual(['proxy ready'])
  expect(await commandIn(page)).toBe('windlass gitops app logs prod shop shop/front-5d-x2x4k -c proxy -f')
  // More lines than the page keeps at first, and a pod that is gone.
  runtime.cluster.logs.set(
    'front-5d-x2x4k/prepare',
    linesOf(
      30,
      Array.from({ length: 1_200 }, (_, index) => `line ${index + 1}`),
    ),
  )
  await drawer.getByLabel('Container').selectOption('prepare')
  await drawer.getByText('1000 lines. The log has earlier ones.').waitFor()
  await lines.getByText('line 1200', { exact: true }).waitFor()
  runtime.cluster.logs.clear()
  await drawer.getByRole('button', { name: 'Follow' }).click()
  await drawer.getByText('The log has no lines any more').waitFor()
  expect(await lines.getByText('line 1200', { exact: true }).count()).toBe(1)
  await drawer.getByLabel('Container').selectOption('main')
  await drawer.getByText('The container has written nothing.').waitFor()
  expect(seen).toEqual([])
})

test('a viewer reads everything, and is told which role changes something (W106)', async () => {
  const { token } = await web.server.admin.keys.create({ name: 'viewer-of-apps', role: 'viewer' })
  await using opened = await openPage(web.browser, { url: web.server.server.url, key: token })
  const { page, seen } = opened
  await page.goto(PATH)
  const rows = page.getByRole('region', { name: 'Resources' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(6)
  for (const name of ['Sync', 'Refresh']) {
    const button = page.getByRole('button', { name, exact: true })
    expect(await button.getAttribute('aria-disabled')).toBe('true')
    expect(await button.getAttribute('aria-description')).toContain('developer')
  }
  expect(seen).toEqual([])
})

test('without a connection the page says so, shows what was reported, and goes on when the runtime is back (W106)', async () => {
  await runtime.disconnect()
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto(PATH)
  await page.getByText('The runtime prod is not connected, so this is what it reported').waitFor()
  const rows = page.getByRole('region', { name: 'Resources' }).getByRole('row')
  expect(await rows.count()).toBe(4)
  await page.getByText('git.test/acme/shop shop, follows main, compared with 01234567').waitFor()
  const sync = page.getByRole('button', { name: 'Sync', exact: true })
  expect(await sync.getAttribute('aria-description')).toBe('The runtime prod is not connected.')
  await sync.click({ force: true })
  expect(await dialogOf(page).count()).toBe(0)
  await page.getByRole('link', { name: 'Differences' }).click()
  await page.getByText('The differences are known while the runtime is connected.').waitFor()
  await page.getByRole('link', { name: 'Overview' }).click()
  await runtime.connect()
  await expect.poll(() => rows.count()).toBe(6)
  expect(await sync.getAttribute('aria-disabled')).toBeNull()
  // A runtime that is reached by an ingress only.
  const { token } = await web.server.admin.gitopsRuntimes.createToken('edge')
  await openReporter(web.server, token)({ data: [event(argoApplication('shop'), Date.now())] })
  await page.goto('/delivery/apps/edge/argocd/shop')
  await page.getByText('The runtime edge has no tunnel, and the server never calls an ingress of a cluster').waitFor()
  await page.getByText('windlass gitops app get edge shop --runtime-url URL').waitFor()
  expect(seen).toEqual([])
})

test('no part and no dialog of an application has a serious breach of accessibility or scrolls sideways (W088, W090)', async () => {
  await using opened = await web.open({ bypassCSP: true, reducedMotion: 'reduce' })
  const { page } = opened
  await page.goto(PATH)
  await page.evaluate(AXE)
  const wrong = []
  for (const part of ['', '/diff', '/history']) {
    await show(page, PATH + part)
    wrong.push(...(await auditLooks(page, part)))
  }
  playPod()
  for (const view of ['manifest', 'diff', 'events', 'logs']) {
    const object = `?object=${encodeURIComponent(POD)}&view=${view}`
    await show(page, PATH + object)
    wrong.push(...(await auditLooks(page, object)))
  }
  await show(page, `${PATH}/history`)
  for (const name of ['Roll back to deployment 1', 'Refresh', 'Sync']) {
    await page.getByRole('button', { name, exact: true }).click()
    if (name === 'Sync') await dialogOf(page).getByLabel('Objects', { exact: true }).selectOption('chosen')
    wrong.push(...(await auditLooks(page, `dialog ${name}`)))
    await page.keyboard.press('Escape')
    await dialogOf(page).waitFor({ state: 'detached' })
  }
  expect(wrong).toEqual([])
})

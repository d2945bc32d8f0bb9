/** The applications of GitOps runtimes in Chromium, against a real server that gets the reports of a runtime. */
import type { EventsAnswer } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  argoApplication,
  event,
  openReporter,
  type Sent,
} from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { statusCalls } from '@windlass/client/app-proxy'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene
let report: (body: Sent) => Promise<EventsAnswer>
let token = ''
let at = Date.now() - 60_000

beforeAll(async () => {
  web = await openWebScene()
})
afterAll(() => web[Symbol.asyncDispose]())

/** Reports applications, each time a second later. */
async function send(...applications: readonly object[]): Promise<void> {
  at += 1_000
  await report({ data: applications.map((application) => event(application, at)) })
}

const DEGRADED = argoApplication('shop', {
  version: 2,
  health: 'Degraded',
  sync: 'OutOfSync',
  status: {
    operationState: {
      phase: 'Failed',
      message: 'one or more objects failed to apply',
      startedAt: '2027-01-10T09:00:00Z',
      finishedAt: '2027-01-10T09:00:07Z',
      operation: { initiatedBy: { username: 'mara' } },
      syncResult: { revision: '89abcdef0123456789abcdef0123456789abcdef', resources: [] },
    },
    resources: [
      {
        group: 'apps',
        version: 'v1',
        kind: 'Deployment',
        namespace: 'shop',
        name: 'front',
        status: 'OutOfSync',
        health: { status: 'Degraded', message: 'Deployment "front" exceeded its progress deadline' },
      },
      { version: 'v1', kind: 'Service', namespace: 'shop', name: 'front', status: 'Synced', health: { status: 'Healthy' } },
    ],
  },
})

test('the room appears with the first GitOps runtime, and the screen before it says how to install one (W100)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/delivery/apps')
  await page.getByText('There are no GitOps runtimes.').waitFor()
  await page.getByText('windlass gitops install prod').waitFor()
  const room = page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: 'Applications' })
  expect(await room.count()).toBe(0)
  await live(page)
  token = (await web.server.admin.gitopsRuntimes.createToken('prod')).token
  report = openReporter(web.server, token)
  await send(argoApplication('shop', { health: 'Missing' }))
  await room.waitFor()
  await expect.poll(() => room.textContent()).toContain('1')
  await page.getByRole('list', { name: 'GitOps runtimes' }).getByText('prod has not connected a tunnel.').waitFor()
  await page.getByRole('region', { name: 'Applications' }).getByText('Missing', { exact: true }).waitFor()
  expect(seen).toEqual([])
})

test('the list changes live and is filtered by health, sync, project, runtime and name, with the same command (W100)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await send(argoApplication('shop'), argoApplication('mail', { project: 'office' }))
  // What the app-proxy of the runtime says about the runtime.
  await statusCalls(web.server.nobody.withToken(token)).status({
    version: '1.2.3',
    checks: {
      gitSourceConfigured: { status: 'failed', description: 'There is no Git source.', hint: 'Run `windlass version`.' },
    },
    syncMode: 'helm',
    argoCd: { state: 'connected' },
  })
  await page.goto('/delivery/apps')
  const runtimes = page.getByRole('list', { name: 'GitOps runtimes' })
  await runtimes.getByText('The account has not chosen a shared configuration repository.').waitFor()
  await runtimes.getByText('windlass gitops status prod', { exact: true }).waitFor()
  const row = (name: string) =>
    page
      .getByRole('region', { name: 'Applications' })
      .getByRole('row')
      .filter({ has: page.getByRole('link', { name, exact: true }) })
  await row('shop').getByText('Healthy', { exact: true }).waitFor()
  await row('shop').getByText('git.test/acme/shop shop').waitFor()
  await row('mail').getByText('in-cluster / shop').waitFor()
  await live(page)
  await send(DEGRADED)
  await row('shop').getByText('Degraded', { exact: true }).waitFor()
  await row('shop').getByText('Out of sync', { exact: true }).waitFor()
  await row('shop').getByText('one or more objects failed to apply').waitFor()
  await row('shop').getByText('sync: failed').waitFor()

  const health = page.getByRole('group', { name: 'Health' })
  await health.getByRole('button', { name: 'Healthy' }).click()
  await row('shop').waitFor({ state: 'detached' })
  await page.getByText('windlass get applications --status healthy').waitFor()
  expect(new URL(page.url()).search).toBe('?health=healthy')
  await page.getByRole('button', { name: 'Out of sync', exact: true }).click()
  await page.getByText('No applications match.').waitFor()
  await page.getByRole('button', { name: 'Show all applications' }).click()
  await page.getByRole('button', { name: 'Show only the project office' }).click()
  await row('shop').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Drop the filter project: office' }).click()
  await row('shop').waitFor()
  await page.getByRole('searchbox', { name: 'Part of the name' }).fill('ai')
  await page.keyboard.press('Enter')
  await row('shop').waitFor({ state: 'detached' })
  await page.getByText('windlass get applications --query ai').waitFor()
  expect(seen).toEqual([])
})

test('an application shows why it is not healthy, its last sync, its source and its resources, and changes live (W100)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await web.server.admin.imageReports.report({
    image: 'registry.test/shop',
    digest: `sha256:${'a'.repeat(64)}`,
    tags: ['1'],
    workflow: { name: 'shop #3', url: 'https://ci.test/3' },
    git: { commit: '89abcdef0123456789abcdef0123456789abcdef', message: 'Mend the cart', url: 'https://git.test/commit' },
    issues: [{ key: 'SHOP-12' }],
  })
  await page.goto('/delivery/apps?sort=health')
  await page.getByRole('region', { name: 'Applications' }).getByRole('link', { name: 'shop', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Applications / shop' }).waitFor()
  expect(new URL(page.url()).pathname).toBe('/delivery/apps/prod/argocd/shop')
  const main = page.getByRole('main')
  await main.getByText('Deployment "front" exceeded its progress deadline').first().waitFor()
  await main.getByText('one or more objects failed to apply').first().waitFor()
  for (const fact of [
    'by mara',
    'took 7 s',
    'revision 89abcdef',
    'git.test/acme/shop shop, follows main, compared with 01234567',
  ])
    await main.getByText(fact).waitFor()
  const resources = page.getByRole('region', { name: 'Resources' }).getByRole('row')
  expect(await resources.count()).toBe(3)
  await resources.nth(1).getByText('Deployment', { exact: true }).waitFor()
  await resources.nth(2).getByText('Service', { exact: true }).waitFor()
  const image = main.getByRole('list', { name: 'Images' }).getByRole('listitem')
  await image.getByText('commit 89abcdef Mend the cart, SHOP-12, shop #3').waitFor()
  expect(await image.getByRole('link', { name: '89abcdef' }).getAttribute('href')).toBe('https://git.test/commit')
  expect(await image.getByRole('code').textContent()).toBe('registry.test/shop:1')
  await main.getByText('windlass describe application prod/argocd/shop').waitFor()
  await live(page)
  await send(argoApplication('shop', { version: 3 }))
  await main.getByText('Healthy since').waitFor()
  await page.goto('/delivery/apps/prod/argocd/none')
  await page.getByText('The application "prod/argocd/none" does not exist.').waitFor()
  expect(seen).toEqual([])
})

/** Products and their releases in Chromium, against a real server whose runtime and app-proxy are played by the test. */
import { errandCalls } from '@windlass/client/app-proxy'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openProduct, type OpenProduct } from '../../../packages/server/test/support/product.ts'
import { live } from '../support/waits.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

const NEW = 'b'.repeat(40)

let web: WebScene
let product: OpenProduct

beforeAll(async () => {
  web = await openWebScene()
})
afterAll(() => web[Symbol.asyncDispose]())

test('the list shows the version and the health of each product in each environment, and says how to begin (W101)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/delivery/products')
  await page.getByText('There are no products.').waitFor()
  await page.getByText('windlass apply -f products.yaml').waitFor()
  product = await openProduct(web.server)
  await page.goto('/delivery/products')
  const table = page.getByRole('region', { name: 'Products' })
  for (const head of ['Product', 'staging', 'production', 'Last release'])
    await table.getByRole('columnheader', { name: head, exact: true }).waitFor()
  const row = table.getByRole('row').filter({ has: page.getByRole('link', { name: 'shop', exact: true }) })
  await expect.poll(() => row.getByText('Healthy', { exact: true }).count()).toBe(2)
  await live(page)
  await product.report('production', { health: 'Degraded' })
  await row.getByText('Degraded', { exact: true }).waitFor()
  await page.getByText('windlass get products').waitFor()
  await product.report('production')
  expect(seen).toEqual([])
})

test('a release is started, followed to its end and terminated on the page (W101)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  const appProxy = errandCalls(web.server.nobody.withToken(product.token))
  await page.goto('/delivery/products/shop')
  const environments = page.getByRole('list', { name: 'Environments' })
  await environments.getByRole('heading', { name: 'production' }).waitFor()
  await environments.getByRole('link', { name: 'shop-staging' }).waitFor()
  await page.getByText('The product has no release yet.').waitFor()
  await live(page)
  await page.getByRole('button', { name: 'Promote' }).click()
  await page.getByRole('menuitem', { name: 'From staging to production' }).click()
  const first = page.getByRole('listitem', { name: 'Release #1' })
  await first.getByText('Running', { exact: true }).first().waitFor()
  const { errands } = await appProxy.claim({ room: 1, waitMs: 20_000 })
  await appProxy.report(errands[0]?.id ?? '', { result: { kind: 'promote', revision: NEW, isNew: true } })
  await first.getByText('commit bbbbbbbb', { exact: true }).waitFor()
  await first.getByText('Syncing').first().waitFor()
  await product.report('production', { status: { sync: { status: 'Synced', revision: NEW } } })
  await first.getByText('Succeeded', { exact: true }).first().waitFor()

  await page.getByRole('button', { name: 'Promote' }).click()
  await page.getByRole('menuitem', { name: 'From staging to production' }).click()
  const second = page.getByRole('listitem', { name: 'Release #2' })
  await second.getByRole('button', { name: 'Terminate' }).click()
  const dialog = page.getByRole('dialog', { name: 'Terminate the release #2?' })
  await dialog.getByRole('button', { name: 'Terminate' }).click()
  await dialog.waitFor({ state: 'detached' })
  await second.getByText('Terminated', { exact: true }).first().waitFor()
  await page.getByText('windlass get releases --product shop').waitFor()
  expect(seen).toEqual([])
})

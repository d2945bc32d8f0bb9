/** The screens of pipelines and approvals in Chromium against a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

test('the list of pipelines leads to a pipeline with its document', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/pipelines')
  await page.getByRole('link', { name: 'demo/app' }).click()
  await page.getByRole('region', { name: 'Document of the pipeline' }).getByText('unit_tests').waitFor()
  await page.getByText('The pipeline has no builds yet.').waitFor()
  expect(new URL(page.url()).pathname).toBe('/pipelines/demo/app')
  expect(seen).toEqual([])
})

test('an address fills in the run form, its command is shown, and the build has its values', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/pipelines/demo/app/-/run?branch=next&v.GREETING=two%20words')
  await page.getByText("windlass run demo/app --branch next -v 'GREETING=two words'").waitFor()
  await page.getByRole('button', { name: 'Run the pipeline' }).click()
  await page.waitForURL('**/builds/*')
  const id = page.url().split('/').at(-1) ?? ''
  const build = await web.server.admin.builds.get(id)
  expect(build).toMatchObject({ pipeline: 'demo/app', branch: 'next' })
  const { plan } = await web.server.admin.builds.plan(id)
  expect(JSON.stringify(plan)).toContain('two words')
  expect(seen).toEqual([])
})

test('a pipeline that does not exist shows the problem of the server', async () => {
  await using opened = await web.open()
  await opened.page.goto('/pipelines/demo/none')
  await opened.page.getByRole('alert').waitFor()
})

test('the approvals page says that nothing waits', async () => {
  await using opened = await web.open()
  await opened.page.goto('/approvals')
  await opened.page.getByText('No build waits for an approval.').waitFor()
})

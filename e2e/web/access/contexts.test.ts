/** The contexts in Chromium: secrets that never come back, and what logs would show of them. */
import { pathOf, ROUTES } from '@windlass/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { startFakeService } from '../../../packages/agent/test/support/fake-service.ts'
import { startIdleAgent } from '../../../packages/agent/test/support/idle-agent.ts'
import { openContextData } from '../../../packages/server/src/contexts/context-data.ts'
import { findContext } from '../../../packages/server/src/store/account/contexts.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

/** Collects the bodies of all answers of the API. */
function collectAnswers(page: Page): string[] {
  const bodies: string[] = []
  page.on('response', (response) => {
    if (response.url().includes('/v1/') && !response.url().includes(pathOf(ROUTES.server.stream)))
      void response.text().then(
        (text) => bodies.push(text),
        () => undefined,
      )
  })
  return bodies
}

/** Returns what is stored in a context, opened with the key of the server. */
async function storedIn(name: string): Promise<Readonly<Record<string, string>>> {
  const { app } = web.server.server
  const row = await findContext(app.store.query, app.accountId, name)
  if (row === undefined) throw new Error(`the context ${name} is missing`)
  return openContextData(app.vault, row)
}

test('a stored secret is in no answer and no element, and the rest is saved without writing it again (W083)', async () => {
  const { admin } = web.server
  await admin.contexts.create({
    name: 'images',
    type: 'registry',
    isDefault: false,
    data: { domain: 'registry.example.com', username: 'ci', password: 'hunter2hunter2' },
  })
  await using opened = await web.open()
  const { page, seen } = opened
  const answers = collectAnswers(page)
  await page.goto('/contexts')
  await page.getByRole('link', { name: 'images' }).click()
  const kept = page.getByRole('group', { name: 'password' })
  await kept.getByText('Set. Write a new value to replace it; the old one cannot be shown.').waitFor()
  await page.getByLabel('username').fill('bot')
  await page.getByRole('button', { name: 'Save the context' }).click()
  await page.getByText('Saved images.').waitFor()
  expect(await storedIn('images')).toEqual({ domain: 'registry.example.com', username: 'bot', password: 'hunter2hunter2' })
  await kept.getByRole('button', { name: 'Write a new value' }).click()
  await page.getByLabel(/^password, new/).fill('correct-horse-9')
  await page.getByRole('button', { name: 'Save the context' }).click()
  await kept.waitFor()
  expect((await storedIn('images'))['password']).toBe('correct-horse-9')
  expect(await page.content()).not.toMatch(/hunter2hunter2|correct-horse-9/)
  expect(answers.length).toBeGreaterThan(3)
  expect(answers.join('\n')).not.toMatch(/hunter2hunter2|correct-horse-9/)
  expect(seen).toEqual([])
})

test('a context of secret variables is added with the form of its type, and listed', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/contexts')
  await page.getByRole('button', { name: 'Add a context' }).click()
  await page.getByRole('menuitem', { name: 'Secret variables', exact: true }).click()
  await page.waitForURL('**/contexts?new=secret')
  await page.getByLabel('Name', { exact: true }).fill('tokens')
  await page.getByLabel('Variable', { exact: true }).fill('NPM_TOKEN')
  await page.getByLabel('Value', { exact: true }).fill('npm_0123456789')
  await page.getByRole('button', { name: 'Add the context' }).click()
  await page.waitForURL('**/contexts/tokens')
  await page.getByRole('group', { name: 'Value of NPM_TOKEN' }).waitFor()
  expect(await storedIn('tokens')).toEqual({ NPM_TOKEN: 'npm_0123456789' })
  expect(await page.content()).not.toContain('npm_0123456789')
  await page.goto('/contexts')
  await page.getByRole('link', { name: 'tokens' }).waitFor()
  expect(seen).toEqual([])
})

test('what logs would show of a secret is told while it is typed (W084)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/contexts?new=secret')
  const value = page.getByLabel('Value', { exact: true })
  const warning = page.getByRole('group', { name: 'Fields' }).getByRole('status')
  for (const [text, told] of [
    ['ab', 'Logs show this value, because it has fewer than 3 characters.'],
    ['True', 'Logs show this value, because it is a common word.'],
    ['-----BEGIN KEY-----\nMIIEvQIBADANBgkq\n-----END KEY-----', 'The first and the last line are not masked'],
    ['{\n  "key": "hunter2hunter2"\n}', 'Logs show lines 1, 3 of this value'],
  ] as const) {
    await value.fill(text)
    await warning.getByText(told).waitFor()
  }
  await value.fill('hunter2hunter2')
  await expect.poll(() => warning.innerText()).toBe('')
  expect(seen).toEqual([])
})

test('deleting a context names the pipelines and triggers that break', async () => {
  const { admin } = web.server
  await admin.contexts.create({ name: 'shared', type: 'config', isDefault: false, data: { A: '1' } })
  const { document } = await admin.pipelines.get('demo/app')
  await admin.pipelines.create({ name: 'demo/uses', document, contexts: ['shared'] })
  await admin.triggers.create({ pipeline: 'demo/app', name: 'push', repo: 'acme/app', events: ['push'], contexts: ['shared'] })
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/contexts/shared')
  await page.getByRole('region', { name: 'Used by' }).getByText('demo/uses').waitFor()
  await page.getByRole('button', { name: 'Delete the context' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete the context shared?' })
  await dialog.getByText('demo/uses').waitFor()
  await dialog.getByText('demo/app#push').waitFor()
  await dialog.getByRole('button', { name: 'Delete the context' }).click()
  await page.waitForURL('**/contexts')
  expect((await admin.contexts.list()).items.map(({ name }) => name)).not.toContain('shared')
  expect(seen).toEqual([])
})

test('a check by the agent of a runtime says on the page whether a context works, and stays there (E31)', async () => {
  const { server } = web
  await using _ = await startIdleAgent(server)
  await using vault = await startFakeService((line, { 'x-vault-token': token }) => {
    if (token !== 'hvs.right-token') return { status: 403, body: { errors: ['permission denied'] } }
    return line === 'GET /v1/auth/token/lookup-self' ? { status: 200, body: { data: { display_name: 'approle-ci' } } } : undefined
  })
  const put = (token: string): Promise<unknown> =>
    server.admin.contexts.put('vault', { name: 'vault', type: 'secret-store', data: { url: vault.url, token } })
  await put('hvs.wrong-token')
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/contexts/vault')
  const section = page.getByRole('region', { name: 'Check' })
  await section.getByText('windlass check context vault --runtime local').waitFor()
  await section.getByRole('button', { name: 'Check the context' }).click()
  await section.getByText('refuses the token (403)', { exact: false }).waitFor()
  await section.getByText('Check the token of the context', { exact: false }).waitFor()
  await put('hvs.right-token')
  await page.reload()
  await section.getByText('The context has changed since.').waitFor()
  await section.getByRole('button', { name: 'Check the context' }).click()
  await section.getByText('accepts the token', { exact: false }).waitFor()
  await section.getByText('Checked by agent of local', { exact: false }).waitFor()
  await server.admin.contexts.put('words', { name: 'words', type: 'config', data: { A: '1' } })
  await page.goto('/contexts/words')
  await page.getByRole('button', { name: 'Save the context' }).waitFor()
  expect(await section.count()).toBe(0)
  expect(await page.content()).not.toMatch(/hvs\./)
  expect(seen).toEqual([])
})

/** Access in Chromium: people, keys, roles and the audit log. */
import { openClient, pathOf, ROUTES } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { RIGHTS } from '@windlass/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { githubPush } from '../../../packages/server/test/support/payloads/payloads.ts'
import { openPage } from '../support/chromium.ts'
import { deliverEvent } from '../support/forge-calls.ts'
import { openWebScene, type WebScene } from '../support/web-scene.ts'

let web: WebScene

beforeAll(async () => {
  web = await openWebScene()
})

afterAll(() => web[Symbol.asyncDispose]())

test('a person is invited with a link that works once, gets another role, and is disabled', async () => {
  const { admin } = web.server
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/people')
  await page.getByRole('button', { name: 'Invite a person or add a service account' }).click()
  await page.getByLabel('Name', { exact: true }).fill('mira')
  await page.getByRole('button', { name: 'Invite the person' }).click()
  const link = await page
    .getByRole('region', { name: /Send this link to mira/ })
    .locator('code')
    .innerText()
  const code = new URL(link).hash.replace('#invitation=', '')
  await web.server.nobody.passwords.acceptInvitation({ code, password: 'a long password of mira' })
  const row = page.getByRole('row').filter({ hasText: 'mira' })
  await row.getByRole('button', { name: 'Actions of mira' }).click()
  await page.getByRole('menuitem', { name: /Change the role/ }).click()
  await page.getByLabel('Role for the installation').selectOption('viewer')
  await page.getByRole('button', { name: 'Change the role' }).click()
  await row.getByText('viewer', { exact: true }).waitFor()
  expect((await admin.users.get('mira')).role).toBe('viewer')
  await row.getByRole('button', { name: 'Actions of mira' }).click()
  await page.getByRole('menuitem', { name: 'Disable' }).click()
  await page.getByRole('button', { name: 'Disable mira' }).click()
  await row.getByText('disabled').waitFor()
  expect((await admin.users.get('mira')).state).toBe('disabled')
  expect(seen).toEqual([])
})

test('a service account and a team with it are added', async () => {
  const { admin } = web.server
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/people')
  await page.getByRole('button', { name: 'Invite a person or add a service account' }).click()
  await page.getByLabel('Kind').selectOption('service-account')
  await page.getByLabel('Name', { exact: true }).fill('deployer')
  await page.getByRole('button', { name: 'Add the service account' }).click()
  await page.getByRole('row').filter({ hasText: 'deployer' }).getByText('service account').waitFor()
  await page.getByRole('button', { name: 'Add a team' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a team' })
  await dialog.getByLabel('Name', { exact: true }).fill('shop')
  await dialog.getByLabel('deployer').check()
  await dialog.getByRole('button', { name: 'Add the team' }).click()
  await page.getByRole('region', { name: 'Teams', exact: true }).last().getByText('deployer').first().waitFor()
  expect(await admin.teams.get('shop')).toMatchObject({ members: ['deployer'] })
  expect(seen).toEqual([])
})

/** How long a revoked key may still be accepted. Milliseconds. */
const REVOKED_MS = 3_000

test('a key is shown once, its last use is told within a minute, and it is worth nothing 3 seconds after revoking (W085)', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/keys')
  await page.getByRole('button', { name: 'Make a key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('laptop')
  await page.getByLabel('build:read').check()
  await page.getByRole('button', { name: 'Make the key' }).click()
  const token = await page
    .getByRole('region', { name: /The key laptop/ })
    .locator('code')
    .innerText()
  await page.reload()
  const row = page.getByRole('row').filter({ hasText: 'laptop' })
  await row.getByText('build:read').waitFor()
  const lastUse = row.getByRole('cell').nth(4)
  await expect.poll(() => lastUse.innerText()).toBe('never')
  expect(await page.content()).not.toContain(token.split('.')[1] ?? token)
  const client = openClient({ url: web.server.server.url, transport: nodeTransport() }).withToken(token)
  await client.builds.list()
  await expect
    .poll(async () => (await web.server.admin.keys.list()).items.find(({ name }) => name === 'laptop')?.usedAt ?? 0, {
      timeout: 60_000,
    })
    .toBeGreaterThan(Date.now() - 60_000)
  await page.reload()
  await lastUse.getByText(/^(?:just now|\d+ (?:s|min) ago)$/).waitFor()
  await row.getByRole('button', { name: 'Revoke the key laptop' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke the key' }).click()
  await row.waitFor({ state: 'detached' })
  const revokedAt = performance.now()
  let accepted = 0
  const call = async (): Promise<string | undefined> => {
    const after = performance.now() - revokedAt
    return client.builds.list().then(
      () => {
        accepted = after
        return 'accepted'
      },
      (error: { code?: string }) => error.code,
    )
  }
  // An answer may take longer than the key is worth something, but no call that begins later may be accepted.
  await expect.poll(call).toBe('unauthenticated')
  expect(accepted).toBeLessThan(REVOKED_MS)
  expect(seen).toEqual([])
})

test('the roles have a row for each right, with who has it', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/roles')
  const rows = page.getByRole('region', { name: 'Rights of each role' }).getByRole('row')
  await expect.poll(() => rows.count()).toBe(Object.keys(RIGHTS).length + 1)
  const row = rows.filter({ hasText: RIGHTS['see-audit'].text })
  await expect.poll(() => row.getByText('yes').count()).toBe(1)
  await expect.poll(() => row.getByText('no', { exact: true }).count()).toBe(3)
  expect(seen).toEqual([])
})

test('changes, sign-ins, terminals and replays have records with person, address, before and after (W086)', async () => {
  const { server } = web
  const { admin } = server
  const trigger = { pipeline: 'demo/app', name: 'audited', repo: 'acme/app', events: ['push.heads' as const] }
  await admin.triggers.create({ ...trigger, branchRegex: 'main' })
  await admin.triggers.put('demo/app#audited', { ...trigger, branchRegex: 'next' })
  await admin.contexts.create({ name: 'audited', type: 'secret', isDefault: false, data: { TOKEN: 'hunter2hunter2' } })
  await admin.contexts.put('audited', { name: 'audited', type: 'secret', isDefault: true, data: { TOKEN: 'hunter3hunter3' } })
  const webhook = await admin.webhooks.create({ name: 'audited', forge: 'github' })
  const { id } = await deliverEvent(server, webhook, githubPush())
  await admin.deliveries.replay(id)
  const build = await server.submit()
  await admin.debug.openTerminal(build.id, { step: 'hello', columns: 80, rows: 24 }).catch(() => undefined)
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/audit')
  const rows = page.getByRole('region', { name: 'Audit records' }).getByRole('row')
  const recordOf = async (what: string): Promise<string> => {
    const row = rows.filter({ hasText: what }).first()
    await row.waitFor()
    return row.innerText()
  }
  const changed = await recordOf(`PUT ${pathOf(ROUTES.triggers.list)}/`)
  expect(changed).toContain('demo/app#audited: branchRegex main -> next')
  expect(changed).toContain('admin')
  expect(changed).toMatch(/127\.0\.0\.1|::1/)
  const context = await recordOf(`PUT ${pathOf(ROUTES.contexts.put, 'audited')}`)
  expect(context).toContain('isDefault false -> true, TOKEN ***** -> a new value')
  expect(await page.content()).not.toMatch(/hunter[23]hunter/)
  await recordOf(`POST ${pathOf(ROUTES.sessions.create)}`)
  await recordOf(`POST ${pathOf(ROUTES.deliveries.replay, id)}`)
  await recordOf(`POST ${pathOf(ROUTES.debug.openTerminal, build.id)}`)
  expect(seen).toEqual([])
})

test('the audit log is filtered by its address, checked and exported', async () => {
  await using opened = await web.open()
  const { page, seen } = opened
  await page.goto('/access/audit?q=branchregex%20main')
  const rows = page.getByRole('region', { name: 'Audit records' }).getByRole('row')
  await rows.filter({ hasText: 'branchRegex main -> next' }).waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export as CSV' }).click()
  expect((await download).suggestedFilename()).toBe('audit.csv')
  await page.getByRole('button', { name: 'Check the chain of hashes' }).click()
  await page.getByText('none was changed, removed or reordered').waitFor()
  const { app } = web.server.server
  await app.store.query.updateTable('audit').set({ detail: 'forged' }).where('seq', '=', 2).execute()
  await page.getByRole('button', { name: 'Check the chain of hashes' }).click()
  await page.getByText('The chain is broken: record 2 was changed').waitFor()
  expect(seen).toEqual([])
})

test('a viewer is told who may see people and the audit log', async () => {
  const { admin, server } = web.server
  await admin.users.create({ name: 'vera', role: 'viewer', password: 'a long password of vera' })
  const { token } = await admin.keys.create({ name: 'vera', owner: 'vera', role: 'viewer' })
  await using opened = await openPage(web.browser, { url: server.url, key: token })
  for (const [part, role] of [
    ['people', 'maintainer'],
    ['audit', 'admin'],
  ] as const) {
    await opened.page.goto(`/access/${part}`)
    await opened.page.getByText(`The role ${role} is needed to`).waitFor()
  }
  await opened.page.goto('/contexts')
  const add = opened.page.getByRole('button', { name: 'Add a context' })
  await add.waitFor()
  await expect.poll(() => add.getAttribute('aria-disabled')).toBe('true')
})

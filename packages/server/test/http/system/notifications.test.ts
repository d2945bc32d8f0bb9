/** Notifications over HTTP: rights, what is shown, and the test message. */
import type { ApiClient } from '@windlass/client'
import { NoticeDocument } from '@windlass/protocol'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { browse, signIn } from '../../support/browser.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { LOOPBACK, openHook } from '../../support/fakes/receivers.ts'
import { dumpTables, leaks } from '../../support/secrets-scene.ts'

const PASSWORD = 'correct horse battery'
const SLACK = { type: 'slack', url: 'https://hooks.slack.test/services/T0/B0/s3cret-of-slack' } as const

/** Creates a user with these roles in projects, and a key with all rights of the user. */
async function addUser(
  { admin, nobody }: HttpScene,
  name: string,
  projects: Record<string, 'viewer' | 'developer'>,
): Promise<ApiClient> {
  await admin.users.create({ name, role: 'none', password: PASSWORD, projects })
  return nobody.withToken((await admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })).token)
}

async function putPipelines({ admin }: HttpScene): Promise<void> {
  for (const name of ['shop/app', 'other/app']) await admin.pipelines.create({ name, document: HELLO })
}

const namesOf = async (client: ApiClient): Promise<string[]> =>
  (await client.notifications.list()).items.map(({ name }) => name).toSorted()

test('a developer of a project has notifications of it, and neither sees nor makes others (N009)', async () => {
  await using scene = await openHttpScene()
  await putPipelines(scene)
  const [dev, viewer] = [
    await addUser(scene, 'dev', { shop: 'developer' }),
    await addUser(scene, 'viewer', { shop: 'viewer', other: 'viewer' }),
  ]
  await scene.admin.notifications.create({ name: 'all', channel: SLACK })
  await scene.admin.notifications.create({ name: 'both', channel: SLACK, projects: ['shop', 'other'] })
  const made = await dev.notifications.create({ name: 'shop', channel: SLACK, pipelines: ['shop/app'] })
  expect(made).toMatchObject({ personal: false, pipelines: ['shop/app'], on: ['failure', 'recovery'] })
  expect(await namesOf(dev)).toEqual(['shop'])
  expect(await namesOf(viewer)).toEqual(['both', 'shop'])
  expect(await namesOf(scene.admin)).toEqual(['all', 'both', 'shop'])
  const create = (client: ApiClient, more: object): Promise<unknown> =>
    client.notifications.create({ name: 'x', channel: SLACK, ...more })
  await expect(create(dev, {})).rejects.toMatchObject({ code: 'not-found' })
  await expect(create(dev, { projects: ['other'] })).rejects.toMatchObject({ code: 'not-found' })
  await expect(create(dev, { projects: ['unknown'] })).rejects.toMatchObject({ code: 'not-found' })
  await expect(create(viewer, { projects: ['shop'] })).rejects.toMatchObject({ code: 'forbidden' })
  for (const call of [
    (name: string) => viewer.notifications.delete(name),
    (name: string) => viewer.notifications.test(name),
    (name: string) => viewer.notifications.change(name, { disabled: true }),
  ])
    await expect(call('shop')).rejects.toMatchObject({ code: 'forbidden' })
  await expect(dev.notifications.change('shop', { projects: ['other'] })).rejects.toMatchObject({ code: 'not-found' })
  await expect(dev.notifications.get('all')).rejects.toMatchObject({ code: 'not-found' })
  expect(await dev.notifications.change('shop', { on: ['always'], branch: 'main', disabled: true })).toMatchObject({
    on: ['always'],
    branch: 'main',
    disabled: true,
    pipelines: ['shop/app'],
  })
  expect(await dev.notifications.change(made.id, { branch: '', pipelines: [], projects: ['shop'] })).toMatchObject({
    pipelines: [],
    projects: ['shop'],
    on: ['always'],
  })
  expect((await dev.notifications.get('shop')).branch).toBeUndefined()
  await dev.notifications.delete('shop')
  await expect(dev.notifications.get('shop')).rejects.toMatchObject({ code: 'not-found' })
})

test('only its owner sees a personal notification, and a key with fewer rights has none (N009)', async () => {
  await using scene = await openHttpScene()
  await putPipelines(scene)
  const [mira, jo] = [await addUser(scene, 'mira', { shop: 'viewer' }), await addUser(scene, 'jo', { shop: 'viewer' })]
  const own = { name: 'me', channel: SLACK, personal: true, mine: true } as const
  await mira.notifications.create(own)
  await jo.notifications.create(own)
  await expect(mira.notifications.create(own)).rejects.toMatchObject({ code: 'conflict' })
  expect(await namesOf(mira)).toEqual(['me'])
  expect(await namesOf(scene.admin)).toEqual([])
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  expect(await browse(scene, 'GET', '/v1/notifications/me', { cookie })).toMatchObject({ body: { personal: true, mine: true } })
  const { token } = await scene.admin.keys.create({ name: 'low', role: 'viewer', owner: 'mira', scopes: ['notification:write'] })
  const low = scene.nobody.withToken(token)
  expect(await namesOf(low)).toEqual([])
  await expect(low.notifications.create({ ...own, name: 'more' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(mira.notifications.create({ ...own, name: 'x', projects: ['other'] })).rejects.toMatchObject({ code: 'not-found' })
  await expect(scene.admin.notifications.create({ name: 'x', channel: SLACK, mine: true })).rejects.toMatchObject({
    code: 'request-invalid',
  })
  // Its pipeline is deleted: the owner can still delete the notification.
  await mira.notifications.change('me', { pipelines: ['shop/app'] })
  await scene.admin.pipelines.delete('shop/app')
  expect((await mira.notifications.get('me')).pipelines).toEqual([expect.stringMatching(/^[0-9a-f]{24}$/)])
  await mira.notifications.delete('me')
  expect(await namesOf(jo)).toEqual(['me'])
})

test('URLs, keys and passwords are sealed and not shown, and a webhook shows its key once (N008)', async () => {
  await using scene = await openHttpScene()
  const { admin } = scene
  const url = 'https://hooks.test/s3cret-path?sig=s3cret-query'
  const { secret = '' } = await admin.notifications.create({ name: 'hook', channel: { type: 'webhook', url } })
  expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
  await admin.notifications.create({ name: 'chat', channel: SLACK })
  await admin.mailServer.put({ host: 'mail.test', from: 'ci@mail.test', username: 'ci', password: 's3cret-of-mail' })
  const shown = JSON.stringify([
    await admin.notifications.list(),
    await admin.notifications.get('hook'),
    await admin.mailServer.get(),
    await admin.audit.list(),
  ])
  const secrets = { path: 's3cret-path', query: 's3cret-query', slack: 's3cret-of-slack', mail: 's3cret-of-mail', key: secret }
  for (const text of Object.values(secrets)) expect(shown).not.toContain(text)
  expect(leaks(await dumpTables(scene.server.app), secrets)).toEqual([])
  expect(await admin.notifications.get('hook')).toMatchObject({ channel: { type: 'webhook', host: 'hooks.test' } })
  expect(await admin.mailServer.get()).toMatchObject({ port: 587, security: 'starttls', hasPassword: true })
})

test('a test message arrives at once, signed; one that cannot be sent says why (N010)', async () => {
  await using hook = await openHook()
  await using scene = await openHttpScene(LOOPBACK)
  const { admin } = scene
  const { secret = '' } = await admin.notifications.create({ name: 'hook', channel: { type: 'webhook', url: hook.url } })
  expect(await admin.notifications.test('hook')).toEqual({ sent: true })
  const [call] = hook.calls
  const document = NoticeDocument.parse(new Webhook(secret).verify(call?.body ?? '', call?.headers as Record<string, string>))
  expect(document).toMatchObject({ type: 'test', data: { notification: 'hook' } })
  await expect(admin.notifications.test('hook')).rejects.toMatchObject({ code: 'rate-limited' })
  for (const type of ['slack', 'teams'] as const) {
    await admin.notifications.create({ name: type, channel: { type, url: hook.url } })
    hook.answers = [{ status: 302, headers: { location: `${hook.url}/elsewhere` } }]
    expect(await admin.notifications.test(type)).toEqual({ sent: false, problem: '127.0.0.1 answered 302.' })
  }
  expect(hook.calls).toHaveLength(3)
  expect((await admin.notifications.get('teams')).problem).toBe('127.0.0.1 answered 302.')
})

test('refuses channels and rules that cannot work', async () => {
  await using scene = await openHttpScene()
  const create = (more: object): Promise<unknown> =>
    scene.admin.text('POST', '/v1/notifications', { body: { name: 'x', channel: SLACK, ...more } })
  for (const more of [
    { channel: { type: 'slack', url: 'file:///etc/passwd' } },
    { channel: { type: 'slack', url: 'https://user:pass@hooks.test/' } },
    { channel: { type: 'slack', url: 'https://hooks.test/\nx' } },
    { channel: { type: 'webhook', url: 'https://hooks.test/', secret: 'whsec_short' } },
    { channel: { type: 'mail', to: [] } },
    { channel: { type: 'mail', to: ['mira@example.com\r\nBcc: x@example.com'] } },
    { channel: { type: 'mail', to: ['mira@example.com'] } },
    { channel: { type: 'pager', url: 'https://hooks.test/' } },
    { on: [] },
    { on: ['never'] },
    { branch: '/(/' },
    { name: '' },
  ])
    await expect(create(more), JSON.stringify(more)).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(create({ pipelines: ['no/such'] })).rejects.toMatchObject({ code: 'not-found' })
})

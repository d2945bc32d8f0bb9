/** Notifications and the mail server from the command line, against a real server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { LOOPBACK, openHook, openMailReceiver } from '../../../server/test/support/fakes/receivers.ts'
import { windlass } from '../windlass.ts'

let scene: HttpScene
let folder: string

beforeAll(async () => {
  scene = await openHttpScene(LOOPBACK)
  folder = await mkdtemp(join(tmpdir(), 'windlass-notifications-'))
  await scene.admin.pipelines.create({ name: 'demo/app', document: HELLO })
})

afterAll(async () => {
  await scene[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function run(...words: string[]): Promise<string> {
  const { code, text } = await windlass(scene, words)
  expect({ words, code, text }).toMatchObject({ code: 0 })
  return text
}

/** Writes a file. Returns its path. */
async function fileOf(name: string, content: string): Promise<string> {
  await writeFile(join(folder, name), content)
  return join(folder, name)
}

test('creates, tests, shows, changes and deletes a notification (N010)', async () => {
  await using hook = await openHook()
  const url = await fileOf('url', `${hook.url}\n`)
  const made = await run('create', 'notification', 'ops', '--channel', 'webhook', '--url-file', url, '--pipeline', 'demo/app')
  expect(made).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/m)
  expect(await run('get', 'notifications')).toMatch(/^NAME +CHANNEL[^\n]+\nops +webhook +failure,recovery +demo\/app/)
  expect(await run('notification', 'test', 'ops')).toBe('notification/ops sent\n')
  expect(hook.calls).toHaveLength(1)
  expect(await run('set', 'notification', 'ops', '--on', 'always', '--on', 'approval', '-b', 'main', '--disabled')).toBe(
    'notification/ops changed\n',
  )
  const described = await run('describe', 'notification', 'ops')
  expect(described).toMatch(/^Receiver: +127\.0\.0\.1$/m)
  expect(described).toMatch(/^On: +always, approval$/m)
  expect(described).toMatch(/^Disabled: +yes$/m)
  expect(described).not.toContain('s3cret-path')
  hook.answers = [{ status: 404 }]
  await run('create', 'notification', 'chat', '--channel', 'slack', '--url-file', url)
  expect(await windlass(scene, ['notification', 'test', 'chat'])).toMatchObject({
    code: 1,
    text: expect.stringContaining('127.0.0.1 answered 404.'),
  })
  expect(await run('get', 'notifications', 'chat', '-o', 'json')).toContain('"problem": "127.0.0.1 answered 404."')
  expect(await run('delete', 'notification', 'ops')).toBe('notification/ops deleted\n')
  expect((await windlass(scene, ['get', 'notification', 'chatt'])).text).toContain('Did you mean "chat"?')
})

test('sets the mail server and sends a test mail (N006, N010)', async () => {
  const login = { username: 'ci', password: 'a s3cret word' }
  await using receiver = await openMailReceiver({ login })
  const [ca, password] = [await fileOf('ca.pem', receiver.ca), await fileOf('password', `${login.password}\n`)]
  const server = ['set', 'mail-server', '--host', '127.0.0.1', '--port', String(receiver.port), '--ca-file', ca]
  const set = await run(...server, '--username', 'ci', '--password-file', password, '--from', 'ci@example.com')
  expect(set).toMatch(/^Security: +starttls$/m)
  expect(set).not.toContain(login.password)
  await run('create', 'notification', 'me', '--channel', 'mail', '--to', 'mira@example.com', '--on', 'failure')
  expect(await run('notification', 'test', 'me')).toBe('notification/me sent\n')
  expect(receiver.mails).toMatchObject([{ to: ['mira@example.com'], isEncrypted: true, user: 'ci' }])
  expect(await run('get', 'mail-server', '-o', 'json')).toContain('"hasPassword": true')
  expect(await run('delete', 'mail-server')).toBe('mail-server deleted\n')
  expect((await windlass(scene, ['get', 'mail-server'])).code).toBe(3)
})

test('explains wrong words', async () => {
  const refused = async (...words: string[]): Promise<string> => {
    const { code, text } = await windlass(scene, words)
    expect([words, code]).toEqual([words, 2])
    return text
  }
  const create = ['create', 'notification', 'x']
  expect(await refused(...create)).toContain('--channel slack')
  expect(await refused(...create, '--channel', 'slack')).toContain('--url-file FILE')
  expect(await refused(...create, '--channel', 'mail')).toContain('--to ADDRESS')
  expect(await refused(...create, '--channel', 'mail', '--to', 'a@b.test', '--on', 'never')).toContain('failure, recovery')
  expect(await refused(...create, '--channel', 'mail', '--to', 'a@b.test', '--secret-file', 'x')).toContain('webhooks only')
  expect(await refused('set', 'notification', 'x')).toContain('nothing to change')
  expect(await refused('set', 'mail-server', '--host', 'x')).toContain('--from ADDRESS')
})

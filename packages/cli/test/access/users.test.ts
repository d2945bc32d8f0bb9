/** Commands for users, logins and the audit log, against a real server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathOf, ROUTES } from '@windlass/client'
import { expect, test } from 'vitest'
import { WINDLASS } from '../../../../e2e/support/programs.ts'
import { browse, signIn } from '../../../server/test/support/browser.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../../server/test/support/http-scene.ts'
import { callWindlass, windlass } from '../windlass.ts'

const PASSWORD = 'correct horse battery'

interface Shell extends AsyncDisposable {
  readonly folder: string
  readonly configFile: string
  /** Runs the command with only the configuration file of this shell. `onText` gets the output so far. */
  run(
    words: readonly string[],
    options?: { input?: string; onText?: (text: string) => void },
  ): Promise<{ code: number | null; text: string }>
  /** Like `run`, in this process and without standard input. */
  call(words: readonly string[]): Promise<{ code: number; text: string }>
}

async function openShell(): Promise<Shell> {
  const folder = await mkdtemp(join(tmpdir(), 'windlass-users-'))
  const configFile = join(folder, 'config.yaml')
  const { WINDLASS_API_KEY: _key, WINDLASS_URL: _url, ...inherited } = process.env
  const env = { ...inherited, NO_COLOR: '1', WINDLASS_CONFIG: configFile }
  return {
    folder,
    configFile,
    async call(words) {
      const { code, stdout, stderr } = await callWindlass(words, env)
      return { code, text: stdout + stderr }
    },
    async run(words, { input = '', onText = () => undefined } = {}) {
      const child = spawn(WINDLASS, words, { env })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          onText(text)
        })
      child.stdin.end(input)
      await once(child, 'close')
      return { code: child.exitCode, text }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Decides the login whose code the output has, once. */
function decider(scene: HttpScene, cookie: string, verb: 'approve' | 'deny'): (text: string) => void {
  let isDecided = false
  return (text) => {
    const code = /Confirm the code ([A-Z]{4}-[A-Z]{4})/.exec(text)?.[1]
    if (code === undefined || isDecided) return
    isDecided = true
    void browse(scene, 'POST', pathOf(ROUTES.deviceLogins[verb], code), { cookie })
  }
}

test('login waits for the confirmation in a browser and saves a key, whoami shows its user, and logout revokes it', async () => {
  await using scene = await openHttpScene()
  await using shell = await openShell()
  await scene.admin.users.create({ name: 'mira', role: 'developer', password: PASSWORD })
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  const login = ['login', '--url', scene.server.url, '--name', 'work']
  const denied = await shell.run(login, { onText: decider(scene, cookie, 'deny') })
  expect(denied).toMatchObject({ code: 4, text: expect.stringContaining('The login was denied.') })
  const done = await shell.run(login, { onText: decider(scene, cookie, 'approve') })
  expect(done).toMatchObject({ code: 0, text: expect.stringContaining(`${scene.server.url}/device#code=`) })
  expect(done.text).toContain('as context "work"')
  const config = await readFile(shell.configFile, 'utf8')
  const key = /apiKey: (\S+)/.exec(config)?.[1] ?? ''
  expect(done.text).not.toContain(key)
  expect((await stat(shell.configFile)).mode & 0o777).toBe(0o600)
  const me = await shell.call(['whoami'])
  expect(me.text).toMatch(/Name: +mira\nRole: +developer\nKey: +login\/mira\/windlass-on-/)
  expect(JSON.parse((await shell.call(['whoami', '-o', 'json'])).text)).toMatchObject({
    owner: { name: 'mira' },
    role: 'developer',
  })
  expect(await shell.call(['logout', '--everywhere'])).toMatchObject({
    code: 0,
    text: expect.stringContaining('Ended 1 sessions.'),
  })
  await expect(scene.nobody.withToken(key).server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await readFile(shell.configFile, 'utf8')).not.toContain(key)
  expect((await scene.admin.sessions.list()).items).toEqual([])
})

test('login with a key file saves only a key that the server confirms', async () => {
  await using scene = await openHttpScene()
  await using shell = await openShell()
  const keyFile = join(shell.folder, 'key')
  await writeFile(keyFile, `${scene.adminToken.slice(0, -1)}_\n`)
  const login = ['login', '--url', scene.server.url, '--key-file', keyFile]
  expect(await shell.run(login)).toMatchObject({ code: 4 })
  await writeFile(keyFile, `${scene.adminToken}\n`)
  expect(await shell.run(login)).toMatchObject({ code: 0 })
  expect((await shell.call(['whoami'])).text).toMatch(/Name: +admin\nRole: +admin\nKey: +admin\nScopes: +all\nExpires: +never\n/)
  // Only the keys of logins are revoked.
  expect(await shell.call(['logout'])).toMatchObject({ code: 0 })
  expect(await scene.admin.server.whoami()).toMatchObject({ name: 'admin' })
})

test('invite prints a link that sets the password, and create user reads one from a file', async () => {
  await using scene = await openHttpScene()
  await using shell = await openShell()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
  const invited = await windlass(scene, ['invite', 'mira', '--role', 'none', '--project', 'shop=maintainer'])
  const code = /\/signin#invitation=(\S+)/.exec(invited.text)?.[1]
  expect([invited.code, code === undefined]).toEqual([0, false])
  expect(
    await browse(scene, 'POST', ROUTES.passwords.acceptInvitation.path, { body: { code, password: PASSWORD } }),
  ).toMatchObject({
    status: 201,
  })
  expect(await windlass(scene, ['invite', 'mira'])).toMatchObject({ code: 1, text: expect.stringContaining('--again') })
  expect((await windlass(scene, ['invite', 'mira', '--again'])).text).toContain('/signin#invitation=')
  const passwordFile = join(shell.folder, 'password')
  await writeFile(passwordFile, `${PASSWORD}\n`)
  expect(await windlass(scene, ['create', 'user', 'jo', '--password-file', passwordFile, '--display-name', 'Jo'])).toMatchObject({
    code: 0,
  })
  expect(await signIn(scene, { name: 'jo', password: PASSWORD })).not.toBe('')
  const users = await windlass(scene, ['get', 'users'])
  expect(users.text.split('\n').map((line) => line.split(/ {2,}/).slice(0, 5))).toEqual(
    expect.arrayContaining([
      ['NAME', 'KIND', 'ROLE', 'PROJECTS', 'STATE'],
      ['mira', 'user', 'none', 'shop=maintainer', 'active'],
    ]),
  )
  expect(await windlass(scene, ['invite', 'max', '--project', 'shop=boss'])).toMatchObject({ code: 2 })
})

test('roles change, users are disabled, and keys belong to service accounts', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
  const run = (...words: string[]): ReturnType<typeof windlass> => windlass(scene, words)
  expect(await run('create', 'service-account', 'robot', '--role', 'none')).toMatchObject({
    code: 0,
    text: 'service-account/robot created\n',
  })
  expect(await run('set', 'role', 'robot', 'shop', 'developer')).toMatchObject({ code: 0 })
  const made = await run(
    'create',
    'key',
    'robot-1',
    '--for',
    'robot',
    '--scope',
    'build:write',
    '--expires-days',
    '30',
    '-o',
    'json',
  )
  expect(JSON.parse(made.text)).toMatchObject({
    owner: { name: 'robot' },
    role: 'developer',
    scopes: ['build:write'],
    expiresAt: expect.any(Number),
  })
  expect(await run('create', 'key', 'x', '--scope', 'everything')).toMatchObject({ code: 2 })
  expect((await run('get', 'keys', 'robot-1', '--no-headers')).text).toMatch(/^robot-1 +robot +developer +\w{8} +never +\d{4}-/)
  expect(await run('set', 'user', 'robot', '--disabled')).toMatchObject({ code: 0 })
  expect(await scene.admin.users.get('robot')).toMatchObject({ state: 'disabled', projects: { shop: 'developer' } })
  expect(await run('set', 'user', 'robot', '--disabled=false', '--role', 'viewer')).toMatchObject({ code: 0 })
  expect(await run('set', 'role', 'robot', 'shop', 'none')).toMatchObject({ code: 0 })
  expect(await scene.admin.users.get('robot')).toMatchObject({ state: 'active', role: 'viewer', projects: {} })
  expect(await run('set', 'user', 'robot')).toMatchObject({ code: 2 })
  expect(await run('delete', 'user', 'robot')).toMatchObject({ code: 0 })
  expect(await run('get', 'user', 'robot')).toMatchObject({ code: 3 })
})

test('set password reads both passwords from standard input, and sessions are listed and ended', async () => {
  await using scene = await openHttpScene()
  await using shell = await openShell()
  await scene.admin.users.create({ name: 'mira', password: PASSWORD })
  const { token } = await scene.admin.keys.create({ name: 'mira-key', role: 'admin', owner: 'mira' })
  await writeFile(join(shell.folder, 'key'), token)
  await shell.call(['login', '--url', scene.server.url, '--key-file', join(shell.folder, 'key')])
  await signIn(scene, { name: 'mira', password: PASSWORD })
  expect((await shell.call(['get', 'sessions', '--no-headers'])).text).toMatch(/^[0-9a-f]{24} +mira +viewer /)
  expect(await shell.run(['set', 'password'], { input: 'wrong\nanother long password\n' })).toMatchObject({ code: 4 })
  expect(await shell.run(['set', 'password'], { input: 'one line' })).toMatchObject({ code: 2 })
  expect(await shell.run(['set', 'password'], { input: `${PASSWORD}\nanother long password\n` })).toMatchObject({ code: 0 })
  expect((await shell.call(['get', 'sessions'])).text).toContain('No sessions found.')
  await signIn(scene, { name: 'mira', password: 'another long password' })
  const id = (await shell.call(['get', 'sessions', '-o', 'name'])).text.trim().replace('session/', '')
  expect(await shell.call(['delete', 'session', id])).toMatchObject({ code: 0 })
  expect((await scene.admin.sessions.list()).items).toEqual([])
})

test('audit list, verify and export read the log, and verify finds a change in the database', async () => {
  await using scene = await openHttpScene()
  const run = (...words: string[]): ReturnType<typeof windlass> => windlass(scene, ['audit', ...words])
  for (let n = 0; n < 3; n += 1) await scene.admin.projects.create({ name: `p${n}` })
  expect((await run('list', '--limit', '2')).text).toMatch(
    /^SEQ.*\n6 .* admin +POST \/v1\/projects +\/v1\/projects +done +project p2, new\n5 /,
  )
  const exported = (await run('export', '--after', '3')).text.trim().split('\n')
  expect(exported.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([4, 5, 6])
  const good = await run('verify')
  expect(good).toMatchObject({ code: 0, text: expect.stringMatching(/^6 records fit\. Last record: 6:[0-9a-f]{64}\n$/) })
  const last = /6:[0-9a-f]{64}/.exec(good.text)?.[0] ?? ''
  await scene.admin.projects.create({ name: 'p3' })
  expect(await run('verify', '--expect', last)).toMatchObject({ code: 0 })
  expect(
    await run(
      'verify',
      '--expect',
      last.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')),
    ),
  ).toMatchObject({ code: 1 })
  expect(await run('verify', '--expect', 'x')).toMatchObject({ code: 2 })
  const { query } = scene.server.app.store
  await query.updateTable('audit').set({ target: '/v1/other' }).where('seq', '=', 5).execute()
  expect(await run('verify')).toMatchObject({
    code: 1,
    text: 'The audit log does not fit: record 5 was changed, or the record before it.\n',
  })
})

test('teams are created, changed, listed and deleted', async () => {
  await using scene = await openHttpScene()
  await scene.admin.pipelines.create({ name: 'shop/app', document: HELLO })
  for (const name of ['mira', 'jo']) await scene.admin.users.create({ name, password: PASSWORD })
  const run = (...words: string[]): ReturnType<typeof windlass> => windlass(scene, words)
  const created = await run('create', 'team', 'payments', '--project', 'shop=developer', '--member', 'mira')
  expect(created).toMatchObject({ code: 0, text: 'team/payments created\n' })
  expect(await run('set', 'team', 'payments', '--add', 'jo', '--remove', 'mira', '--role', 'viewer')).toMatchObject({ code: 0 })
  expect((await run('get', 'teams', '--no-headers')).text).toMatch(/^payments +viewer +shop=developer +jo +\d+s\n/)
  expect(await run('set', 'team', 'payments')).toMatchObject({ code: 2 })
  expect(await run('delete', 'team', 'payments')).toMatchObject({ code: 0 })
  expect((await run('get', 'teams')).text).toContain('No teams found.')
})

/** Users and service accounts over HTTP: invitations, passwords, roles, keys with owners, and the last admin. */
import { manualClock, systemClock } from '@windlass/kit'
import type { ApiClient } from '@windlass/client'
import { SessionCode } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { browse, cookieOf, signIn } from '../../support/browser.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const PASSWORD = 'correct horse battery'
const DAY_MS = 86_400_000

/** Creates a user with a password, and a key with all rights of the user. */
async function addUser(scene: HttpScene, name: string, more: object = {}): Promise<ApiClient> {
  await scene.admin.users.create({ name, password: PASSWORD, ...more })
  const { token } = await scene.admin.keys.create({ name: `${name}-key`, role: 'admin', owner: name })
  return scene.nobody.withToken(token)
}

async function statusOf(scene: HttpScene, cookie: string, path = '/v1/whoami'): Promise<number> {
  return (await browse(scene, 'GET', path, { cookie })).status
}

test('the bootstrap creates a user with the first key', async () => {
  await using scene = await openHttpScene()
  expect((await scene.admin.users.list()).items).toEqual([
    expect.objectContaining({ name: 'admin', kind: 'user', role: 'admin', state: 'invited', projects: {} }),
  ])
  expect(await scene.admin.server.whoami()).toMatchObject({ kind: 'key', name: 'admin', role: 'admin', owner: { name: 'admin' } })
  expect(await scene.submit()).toMatchObject({ initiator: 'admin' })
})

test('a user who signs in with a sign-in link is active, and the time is recorded', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const { code } = await scene.admin.call('POST', '/v1/sessions/codes', SessionCode)
  clock.advance(1_000)
  expect(await browse(scene, 'POST', '/v1/sessions', { body: { code } })).toMatchObject({ status: 201 })
  expect(await scene.admin.users.get('admin')).toMatchObject({ state: 'active', signedInAt: clock.now() })
})

test('an invitation sets a password once, within seven days, and signs in', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const { invitation, ...user } = await scene.admin.users.create({ name: 'mira', role: 'developer' })
  expect(user).toMatchObject({ name: 'mira', kind: 'user', role: 'developer', state: 'invited' })
  const accept = (code = invitation?.code, password = PASSWORD): ReturnType<typeof browse> =>
    browse(scene, 'POST', '/v1/invitations/accept', { body: { code, password } })
  expect(await accept(undefined, 'short')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('12 characters') },
  })
  expect(await accept(`${invitation?.code.slice(0, -1)}_`)).toMatchObject({ status: 401 })
  const accepted = await accept()
  expect(accepted).toMatchObject({ status: 201, body: { user: { name: 'mira' }, role: 'developer', current: true } })
  expect(accepted.headers.getSetCookie()[0]).toMatch(/^windlass=\S+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie: cookieOf(accepted) })).toMatchObject({
    body: { kind: 'user', name: 'mira', role: 'developer', owner: { name: 'mira', kind: 'user' } },
  })
  expect(await accept()).toMatchObject({ status: 401, body: { detail: 'The invitation was already used or has expired.' } })
  expect(await scene.admin.users.get('mira')).toMatchObject({ state: 'active', signedInAt: clock.now() })
  const late = await scene.admin.users.create({ name: 'late' })
  clock.advance(7 * DAY_MS)
  expect(await accept(late.invitation?.code)).toMatchObject({ status: 401 })
})

test('another invitation ends the first one, and resets a lost password when it is used', async () => {
  await using scene = await openHttpScene()
  const first = (await scene.admin.users.create({ name: 'mira', role: 'viewer' })).invitation?.code ?? ''
  const { code } = await scene.admin.users.invite('mira')
  const accept = async (given: string, password: string): Promise<number> =>
    (await browse(scene, 'POST', '/v1/invitations/accept', { body: { code: given, password } })).status
  expect([await accept(first, PASSWORD), await accept(code, PASSWORD)]).toEqual([401, 201])
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  const again = await scene.admin.users.invite('mira')
  expect(await statusOf(scene, cookie)).toBe(200)
  expect(await accept(again.code, 'another long password')).toBe(201)
  expect([await statusOf(scene, cookie), await signIn(scene, { name: 'mira', password: PASSWORD })]).toEqual([401, ''])
  await expect(scene.admin.users.invite('nobody')).rejects.toMatchObject({ code: 'not-found' })
})

test('a password signs in whatever the case of the name, and a wrong one gets the same answer as an unknown name', async () => {
  await using scene = await openHttpScene()
  await scene.admin.users.create({ name: 'mira', password: PASSWORD })
  await scene.admin.users.create({ name: 'invited' })
  await scene.admin.users.create({ name: 'left', password: PASSWORD })
  await scene.admin.users.change('left', { disabled: true })
  await scene.admin.users.create({ name: 'robot', kind: 'service-account' })
  expect(await statusOf(scene, await signIn(scene, { name: ' Mira ', password: PASSWORD }))).toBe(200)
  const refusals = await Promise.all(
    ['mira', 'unknown', 'invited', 'left', 'robot'].map((name) =>
      browse(scene, 'POST', '/v1/sessions', { body: { name, password: name === 'mira' ? 'wrong' : PASSWORD } }),
    ),
  )
  const shown = refusals.map(({ status, body: { requestId: _id, ...body } }) => JSON.stringify({ status, ...body }))
  expect(new Set(shown).size).toBe(1)
  expect(refusals[0]).toMatchObject({ status: 401, body: { detail: 'The name or the password is wrong.' } })
})

test('wrong passwords are limited for each name, from all addresses, also for names that do not exist', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock, trustedProxies: ['127.0.0.1'] })
  await scene.admin.users.create({ name: 'mira', password: PASSWORD })
  const guess = async (name: string, n: number, password = 'wrong'): Promise<number> => {
    const headers = { 'x-forwarded-for': `203.0.113.${n}` }
    return (await browse(scene, 'POST', '/v1/sessions', { body: { name, password }, headers })).status
  }
  for (const name of ['mira', 'unknown']) {
    const statuses: number[] = []
    for (let n = 0; n < 7; n += 1) statuses.push(await guess(name, n))
    expect([name, statuses]).toEqual([name, [...Array.from({ length: 5 }, () => 401), 429, 429]])
  }
  // The right password is refused as well, so that the limit tells nothing about it.
  expect(await guess('mira', 99, PASSWORD)).toBe(429)
  clock.advance(5 * 60_000)
  expect(await guess('mira', 99, PASSWORD)).toBe(201)
})

test('a changed password ends the other sessions of the user', async () => {
  await using scene = await openHttpScene()
  await addUser(scene, 'mira')
  const [own, other] = [
    await signIn(scene, { name: 'mira', password: PASSWORD }),
    await signIn(scene, { name: 'mira', password: PASSWORD }),
  ]
  const change = (current: string, password: string): ReturnType<typeof browse> =>
    browse(scene, 'PUT', '/v1/password', { cookie: own, body: { current, password } })
  expect(await change('wrong', 'another long password')).toMatchObject({ status: 401 })
  expect(await change(PASSWORD, 'short')).toMatchObject({ status: 400 })
  expect(await statusOf(scene, other)).toBe(200)
  expect(await change(PASSWORD, 'another long password')).toMatchObject({ status: 204 })
  expect([await statusOf(scene, own), await statusOf(scene, other)]).toEqual([200, 401])
  expect(await signIn(scene, { name: 'mira', password: 'another long password' })).not.toBe('')
  const account = await scene.admin.users.create({ name: 'robot', kind: 'service-account' })
  const { token } = await scene.admin.keys.create({ name: 'robot-1', owner: account.name })
  await expect(scene.nobody.withToken(token).passwords.change({ current: 'x', password: PASSWORD })).rejects.toMatchObject({
    code: 'forbidden',
  })
})

test('a disabled user has no sessions and no keys until the user is enabled again', async () => {
  await using scene = await openHttpScene()
  const mira = await addUser(scene, 'mira', { role: 'developer' })
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  await mira.server.whoami()
  await scene.admin.users.change('mira', { disabled: true })
  expect(await statusOf(scene, cookie)).toBe(401)
  await expect(mira.server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await scene.admin.users.get('mira')).toMatchObject({ state: 'disabled' })
  await scene.admin.users.change('mira', { disabled: false })
  expect(await mira.server.whoami()).toMatchObject({ role: 'developer' })
  expect(await statusOf(scene, cookie)).toBe(401)
  expect(await signIn(scene, { name: 'mira', password: PASSWORD })).not.toBe('')
})

test('a change of the role takes effect at the next call, and a key never has more rights than its owner', async () => {
  await using scene = await openHttpScene()
  const mira = await addUser(scene, 'mira', { role: 'viewer' })
  await expect(mira.builds.create({ document: HELLO })).rejects.toMatchObject({ code: 'forbidden' })
  await scene.admin.users.change('mira', { role: 'developer' })
  expect(await mira.builds.create({ document: HELLO })).toMatchObject({ initiator: 'mira' })
  const { token } = await mira.keys.create({ name: 'reading', role: 'viewer' })
  const reading = scene.nobody.withToken(token)
  expect(await reading.server.whoami()).toMatchObject({ role: 'viewer', owner: { name: 'mira' } })
  await expect(reading.builds.create({ document: HELLO })).rejects.toMatchObject({ code: 'forbidden' })
  await scene.admin.users.change('mira', { role: 'none' })
  for (const key of [mira, reading]) await expect(key.builds.list()).rejects.toMatchObject({ code: 'forbidden' })
  expect(await mira.server.whoami()).toMatchObject({ role: 'none' })
})

test('users manage their own keys only, and cannot create one with a role that they do not have', async () => {
  await using scene = await openHttpScene()
  const mira = await addUser(scene, 'mira', { role: 'developer' })
  await addUser(scene, 'jo', { role: 'developer' })
  await mira.keys.create({ name: 'ci', role: 'developer' })
  expect((await mira.keys.list()).items.map(({ name, owner }) => [name, owner?.name])).toEqual([
    ['ci', 'mira'],
    ['mira-key', 'mira'],
  ])
  await expect(mira.keys.create({ name: 'more', role: 'maintainer' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(mira.keys.create({ name: 'more', role: 'viewer', owner: 'jo' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(mira.keys.delete('jo-key')).rejects.toMatchObject({ code: 'not-found' })
  await mira.keys.delete('ci')
  expect((await scene.admin.keys.list()).items.map(({ name }) => name)).toEqual(['admin', 'jo-key', 'mira-key'])
  // A key with fewer rights than its owner manages only itself.
  const { token } = await mira.keys.create({ name: 'low', role: 'viewer' })
  const low = scene.nobody.withToken(token)
  expect((await low.keys.list()).items.map(({ name }) => name)).toEqual(['low'])
  await expect(low.keys.create({ name: 'other', role: 'viewer' })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(low.keys.delete('mira-key')).rejects.toMatchObject({ code: 'not-found' })
  const cookie = await signIn(scene, { name: 'mira', password: PASSWORD })
  expect(await low.sessions.signOutEverywhere()).toEqual({ ended: 0 })
  expect(await statusOf(scene, cookie)).toBe(200)
})

test('a key expires at its time, with the sessions that it has started', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  await expect(scene.admin.keys.create({ name: 'past', expiresAt: clock.now() })).rejects.toMatchObject({
    code: 'request-invalid',
  })
  const { token } = await scene.admin.keys.create({ name: 'short', expiresAt: clock.now() + 60_000 })
  const key = scene.nobody.withToken(token)
  expect(await key.server.whoami()).toMatchObject({ expiresAt: clock.now() + 60_000 })
  const cookie = await signIn(scene, { key: token })
  clock.advance(59_999)
  await key.server.whoami()
  expect(await statusOf(scene, cookie)).toBe(200)
  clock.advance(1)
  await expect(key.server.whoami()).rejects.toMatchObject({ code: 'unauthenticated', message: 'The API key has expired.' })
  expect([await statusOf(scene, cookie), await signIn(scene, { key: token })]).toEqual([401, ''])
})

test('a service account acts with keys, which end with it', async () => {
  await using scene = await openHttpScene()
  expect(await scene.admin.users.create({ name: 'robot', kind: 'service-account', role: 'developer' })).toEqual(
    expect.not.objectContaining({ invitation: expect.anything() }),
  )
  const { token } = await scene.admin.keys.create({ name: 'robot-1', owner: 'robot' })
  const robot = scene.nobody.withToken(token)
  expect(await robot.builds.create({ document: HELLO })).toMatchObject({ initiator: 'robot' })
  expect((await scene.admin.users.list({ query: { kind: 'service-account' } })).items.map(({ name }) => name)).toEqual(['robot'])
  const body = { name: 'other', kind: 'service-account', password: PASSWORD } as const
  await expect(scene.admin.users.create(body)).rejects.toMatchObject({ code: 'request-invalid' })
  await expect(scene.admin.users.invite('robot')).rejects.toMatchObject({ code: 'request-invalid' })
  await scene.admin.users.delete('robot')
  await expect(robot.server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
  expect((await scene.admin.keys.list()).items.map(({ name }) => name)).toEqual(['admin'])
})

test('refuses every change after which no admin could sign in', async () => {
  await using scene = await openHttpScene()
  const changes = (): Promise<unknown>[] => [
    scene.admin.users.change('admin', { role: 'maintainer' }),
    scene.admin.users.change('admin', { disabled: true }),
    scene.admin.users.delete('admin'),
    scene.admin.keys.delete('admin'),
  ]
  for (const change of changes()) await expect(change).rejects.toMatchObject({ code: 'conflict' })
  // Neither a key that ends, nor one with scopes, nor an invited admin counts.
  await scene.admin.keys.create({ name: 'ending', role: 'admin', expiresAt: systemClock.now() + DAY_MS })
  await scene.admin.keys.create({ name: 'scoped', role: 'admin', scopes: ['key:write'] })
  await scene.admin.users.create({ name: 'invited', role: 'admin' })
  for (const change of changes()) await expect(change).rejects.toMatchObject({ code: 'conflict' })
  await scene.admin.users.create({ name: 'second', role: 'admin', password: PASSWORD })
  await scene.admin.users.delete('admin')
  await expect(scene.admin.server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
  const cookie = await signIn(scene, { name: 'second', password: PASSWORD })
  expect(await statusOf(scene, cookie, '/v1/users')).toBe(200)
  expect(await scene.nobody.server.status()).toMatchObject({ bootstrapped: true })
})

test('signing out everywhere ends the sessions of the caller, an admin those of a named user', async () => {
  await using scene = await openHttpScene()
  const mira = await addUser(scene, 'mira')
  const cookies = async (): Promise<string[]> => [
    await signIn(scene, { name: 'mira', password: PASSWORD }),
    await signIn(scene, { name: 'mira', password: PASSWORD }),
  ]
  const [one = '', two = ''] = await cookies()
  const admin = await signIn(scene, { key: scene.adminToken })
  const ended = await browse(scene, 'DELETE', '/v1/sessions', { cookie: one })
  expect(ended).toMatchObject({ status: 200, body: { ended: 2 } })
  expect([await statusOf(scene, one), await statusOf(scene, two), await statusOf(scene, admin)]).toEqual([401, 401, 200])
  await cookies()
  await expect(mira.sessions.signOutEverywhere({ query: { user: 'admin' } })).rejects.toMatchObject({ code: 'forbidden' })
  expect(await scene.admin.sessions.signOutEverywhere({ query: { user: 'mira' } })).toEqual({ ended: 2 })
  expect((await scene.admin.sessions.list()).items.map(({ user }) => user?.name)).toEqual(['admin'])
})

test('only hashes of passwords and codes are stored', async () => {
  await using scene = await openHttpScene()
  const { invitation } = await scene.admin.users.create({ name: 'mira' })
  await scene.admin.users.create({ name: 'jo', password: PASSWORD })
  const login = await scene.nobody.deviceLogins.start({ client: 'test' })
  const { query } = scene.server.app.store
  const rows = JSON.stringify([
    await query.selectFrom('user_account').selectAll().execute(),
    await query.selectFrom('invitation').selectAll().execute(),
    await query.selectFrom('device_code').selectAll().execute(),
    await query.selectFrom('audit').selectAll().execute(),
  ])
  for (const secret of [PASSWORD, invitation?.code, login.deviceCode])
    expect(rows).not.toContain(secret?.split('.')[1] ?? PASSWORD)
})

test('refuses names, passwords and roles that do not fit, and unknown fields', async () => {
  await using scene = await openHttpScene()
  const bodies = [
    { name: 'Mira' },
    { name: '-mira' },
    { name: '' },
    { name: 'a'.repeat(101) },
    { name: 'mira', role: 'root' },
    { name: 'mira', password: 'short' },
    { name: 'mira', password: 'x'.repeat(201) },
    { name: 'mira', kind: 'robot' },
    { name: 'mira', id: 'x' },
    { name: 'mira', projects: { shop: 'none' } },
  ]
  for (const body of bodies)
    await expect(scene.admin.text('POST', '/v1/users', { body }), JSON.stringify(body)).rejects.toMatchObject({
      code: 'request-invalid',
    })
  await expect(scene.admin.users.create({ name: 'mira', projects: { nowhere: 'viewer' } })).rejects.toMatchObject({
    code: 'not-found',
  })
  expect((await scene.admin.users.list()).items).toHaveLength(1)
  await scene.admin.users.create({ name: 'mira' })
  await expect(scene.admin.users.create({ name: 'mira' })).rejects.toMatchObject({ code: 'conflict' })
})

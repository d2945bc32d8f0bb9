/** Login of a command line through a browser. */
import { manualClock, systemClock } from '@windlass/kit'
import type { DeviceCode } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { browse, signIn } from '../../support/browser.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const PASSWORD = 'correct horse battery'
const CLIENT = { client: 'windlass on laptop' }

async function openUser(scene: HttpScene, more: object = {}): Promise<string> {
  await scene.admin.users.create({ name: 'mira', role: 'developer', password: PASSWORD, ...more })
  return signIn(scene, { name: 'mira', password: PASSWORD })
}

/** Returns what the command sends with each poll. */
function secretOf({ deviceCode }: DeviceCode): Pick<DeviceCode, 'deviceCode'> {
  return { deviceCode }
}

function decide(scene: HttpScene, { userCode }: DeviceCode, verb: string, cookie: string): ReturnType<typeof browse> {
  return browse(scene, 'POST', `/v1/device-codes/${userCode}/${verb}`, { cookie })
}

test('a user confirms the code of a command, which gets one key of the user that expires', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const cookie = await openUser(scene)
  const { deviceLogins } = scene.nobody
  const login = await deviceLogins.start(CLIENT)
  expect(login).toMatchObject({ userCode: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/), url: `${scene.server.url}/device` })
  expect(await deviceLogins.poll(secretOf(login))).toEqual({ state: 'pending' })
  const shown = await browse(scene, 'GET', `/v1/device-codes/${login.userCode.toLowerCase().replace('-', ' ')}`, { cookie })
  expect(shown).toMatchObject({ status: 200, body: { client: 'windlass on laptop', address: '127.0.0.1', state: 'pending' } })
  expect(await decide(scene, login, 'approve', cookie)).toMatchObject({ status: 200, body: { state: 'approved' } })
  const answers = await Promise.all(Array.from({ length: 5 }, () => deviceLogins.poll(secretOf(login))))
  const [{ key }] = answers as [(typeof answers)[number]]
  for (const answer of answers) expect(answer).toEqual({ state: 'approved', key })
  expect(key).toMatchObject({ owner: { name: 'mira' }, expiresAt: clock.now() + 30 * 86_400_000 })
  const mine = scene.nobody.withToken(key?.token ?? '')
  expect(await mine.server.whoami()).toMatchObject({ kind: 'key', role: 'developer', owner: { name: 'mira' } })
  expect((await mine.keys.list()).items.map(({ name }) => name)).toEqual([
    expect.stringMatching(/^login\/mira\/windlass-on-laptop-[0-9a-f]{6}$/),
  ])
  await mine.keys.create({ name: 'mine', role: 'developer' })
  clock.advance(30 * 86_400_000)
  await expect(mine.server.whoami()).rejects.toMatchObject({ message: 'The API key has expired.' })
})

test('a code is refused after ten minutes, with another secret, and after its denial', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const cookie = await openUser(scene)
  const { deviceLogins } = scene.nobody
  const [denied, late] = [await deviceLogins.start(CLIENT), await deviceLogins.start(CLIENT)]
  const mixed = `${denied.deviceCode.split('.')[0]}.${late.deviceCode.split('.')[1]}`
  await expect(deviceLogins.poll({ deviceCode: mixed })).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await decide(scene, denied, 'deny', cookie)).toMatchObject({ status: 200 })
  expect(await decide(scene, denied, 'deny', cookie)).toMatchObject({ status: 200 })
  expect(await decide(scene, denied, 'approve', cookie)).toMatchObject({ status: 409 })
  expect(await deviceLogins.poll(secretOf(denied))).toEqual({ state: 'denied' })
  clock.advance(10 * 60_000)
  expect(await decide(scene, late, 'approve', cookie)).toMatchObject({ status: 404 })
  await expect(deviceLogins.poll(secretOf(late))).rejects.toMatchObject({
    code: 'unauthenticated',
    message: 'The login has expired.',
  })
})

test('only a user with all of their rights can confirm, and only from a page of the server', async () => {
  await using scene = await openHttpScene()
  const cookie = await openUser(scene)
  const login = await scene.nobody.deviceLogins.start(CLIENT)
  const path = `/v1/device-codes/${login.userCode}/approve`
  await expect(scene.nobody.text('POST', path)).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await browse(scene, 'POST', path, { cookie, headers: { 'sec-fetch-site': 'cross-site' } })).toMatchObject({
    status: 403,
  })
  await scene.admin.users.create({ name: 'robot', kind: 'service-account', role: 'admin' })
  const keys = [
    { name: 'low', role: 'viewer', owner: 'mira' },
    { name: 'scoped', role: 'admin', owner: 'mira', scopes: ['key:write'] },
    { name: 'robot-1', role: 'admin', owner: 'robot' },
  ] as const
  for (const body of keys) {
    const { token } = await scene.admin.keys.create({ ...body, ...('scopes' in body && { scopes: [...body.scopes] }) })
    await expect(scene.nobody.withToken(token).text('POST', path), body.name).rejects.toMatchObject({ code: 'forbidden' })
  }
  expect(await scene.nobody.deviceLogins.poll(secretOf(login))).toEqual({ state: 'pending' })
})

test('the key of a login follows the roles of its user, and there is none for a user who was disabled meanwhile', async () => {
  await using scene = await openHttpScene()
  const cookie = await openUser(scene, { role: 'viewer' })
  const [first, second] = [await scene.nobody.deviceLogins.start(CLIENT), await scene.nobody.deviceLogins.start(CLIENT)]
  for (const login of [first, second]) await decide(scene, login, 'approve', cookie)
  const mine = scene.nobody.withToken((await scene.nobody.deviceLogins.poll(secretOf(first))).key?.token ?? '')
  await scene.admin.users.change('mira', { role: 'maintainer' })
  expect(await mine.server.whoami()).toMatchObject({ role: 'maintainer' })
  await scene.admin.users.change('mira', { disabled: true })
  await expect(scene.nobody.deviceLogins.poll(secretOf(second))).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(mine.server.whoami()).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('an address that asks for many codes does not take the places of others', async () => {
  await using scene = await openHttpScene()
  const { deviceLogins } = scene.nobody
  for (let n = 0; n < 50; n += 1) await deviceLogins.start(CLIENT)
  await expect(deviceLogins.start(CLIENT)).rejects.toMatchObject({ code: 'rate-limited' })
})

/** Sign-in of browsers: codes, cookies, calls of other pages, the end of sessions. */
import { manualClock, systemClock } from '@windlass/kit'
import { ApiKeyCreated, PAGE_HEADER, RIGHTS, SessionCode, type Session } from '@windlass/protocol'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { browseWith as browse, cookieOf, OWN_PAGE, type Reply } from '../../support/browser.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const HOUR_MS = 3_600_000
async function signIn(scene: HttpScene, input: object): Promise<{ reply: Reply; cookie: string }> {
  const reply = await browse(scene, 'POST', '/v1/sessions', { body: input })
  expect([reply.status, reply.body['code']]).toEqual([201, undefined])
  return { reply, cookie: cookieOf(reply) }
}

async function newCode(scene: HttpScene): Promise<string> {
  return (await scene.admin.call('POST', '/v1/sessions/codes', SessionCode)).code
}

async function newKey(scene: HttpScene, name: string, more: object = {}): Promise<string> {
  return (await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body: { name, role: 'developer', ...more } })).token
}

test('a one-time code signs in once and for 15 minutes, and the cookie is hidden from scripts and other sites (W002, W006)', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const [code, late] = [await newCode(scene), await newCode(scene)]
  const { reply, cookie } = await signIn(scene, { code })
  expect(reply.headers.getSetCookie()).toEqual([
    expect.stringMatching(/^windlass=[0-9a-f]{24}\.[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/),
  ])
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.body).toMatchObject({ current: true, role: 'admin', key: { name: 'admin' }, user: { name: 'admin' } })
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie })).toMatchObject({
    status: 200,
    body: { name: 'admin', role: 'admin' },
  })
  const again = await browse(scene, 'POST', '/v1/sessions', { body: { code } })
  expect(again).toMatchObject({ status: 401, body: { detail: 'The sign-in code was already used or has expired.' } })
  expect(again.headers.getSetCookie()).toEqual([])
  clock.advance(15 * 60_000)
  expect(await browse(scene, 'POST', '/v1/sessions', { body: { code: late } })).toMatchObject({ status: 401 })
})

test('over TLS the cookie is Secure and bound to the host, and a cookie without the prefix does not count', async () => {
  await using scene = await openHttpScene({ advertisedUrl: 'https://ci.test' })
  const { reply, cookie } = await signIn(scene, { code: await newCode(scene) })
  expect(reply.headers.getSetCookie()[0]).toMatch(
    /^__Host-windlass=\S+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
  )
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie })).toMatchObject({ status: 200 })
  const planted = cookie.replace('__Host-', '')
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie: planted })).toMatchObject({ status: 401 })
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie: `${planted}; ${cookie}` })).toMatchObject({ status: 200 })
})

test('an API key starts a session, other credentials do not, and attempts are limited', async () => {
  await using scene = await openHttpScene()
  const { cookie } = await signIn(scene, { key: await newKey(scene, 'mira', { scopes: ['build:read'] }) })
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie })).toMatchObject({ body: { name: 'mira', scopes: ['build:read'] } })
  expect(await browse(scene, 'GET', '/v1/pipelines', { cookie })).toMatchObject({ status: 403, body: { code: 'scope-missing' } })
  const { engine } = await scene.start()
  const wrong = [scene.agentToken, engine.claimed.token, engine.claimed.buildToken, `${scene.adminToken}x`, 'x', cookie.slice(9)]
  for (const key of wrong)
    expect(await browse(scene, 'POST', '/v1/sessions', { body: { key } }), key).toMatchObject({ status: 401 })
  for (const body of [{}, { key: 'a', code: 'b' }, { key: ['a'] }, { name: 'a' }, { name: 'a', password: '' }])
    expect(await browse(scene, 'POST', '/v1/sessions', { body })).toMatchObject({ status: 400 })
  const statuses: number[] = []
  for (let n = 0; n < 15; n += 1) statuses.push((await browse(scene, 'POST', '/v1/sessions', { body: { code: 'x' } })).status)
  expect(statuses).toContain(429)
  const limited = await browse(scene, 'POST', '/v1/sessions', { body: { key: scene.adminToken } })
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
})

test('calls of other pages, malformed calls and sign-ins do not count as guesses', async () => {
  await using scene = await openHttpScene()
  const statuses = new Set<number>()
  const evil = { origin: 'https://evil.test' }
  for (let n = 0; n < 21; n += 1) {
    statuses.add((await browse(scene, 'POST', '/v1/sessions', { body: { code: 'x' }, headers: evil })).status)
    statuses.add((await fetch(`${scene.server.url}/v1/sessions`, { method: 'POST', body: 'code=x', headers: evil })).status)
  }
  expect([...statuses]).toEqual([403])
  statuses.clear()
  for (let n = 0; n < 21; n += 1) {
    statuses.add((await browse(scene, 'POST', '/v1/sessions', { body: {} })).status)
    statuses.add((await fetch(`${scene.server.url}/v1/sessions`, { method: 'POST', body: 'code=x' })).status)
  }
  expect([...statuses]).toEqual([400])
  for (let n = 0; n < 21; n += 1) await signIn(scene, { key: scene.adminToken })
  const guesses = Array.from({ length: 30 }, () => browse(scene, 'POST', '/v1/sessions', { body: { code: 'x' } }))
  expect((await Promise.all(guesses)).filter(({ status }) => status === 401)).toHaveLength(20)
})

test('attempts are counted by client behind a trusted proxy, and by proxy behind others', async () => {
  const attempts = async (scene: HttpScene, forwarded: string): Promise<number[]> => {
    const body = { code: 'x' }
    const headers = { 'x-forwarded-for': forwarded }
    const guesses = Array.from({ length: 21 }, () => browse(scene, 'POST', '/v1/sessions', { body, headers }))
    return [...new Set((await Promise.all(guesses)).map(({ status }) => status))].toSorted((a, b) => a - b)
  }
  await using trusting = await openHttpScene({ trustedProxies: ['10.1.0.0/16', '127.0.0.1'] })
  expect(await attempts(trusting, '203.0.113.7')).toEqual([401, 429])
  // What a client wrote itself stands to the left of its address.
  expect(await attempts(trusting, '198.51.100.1, 203.0.113.7')).toEqual([429])
  // 10.1.2.3 is a trusted proxy, too.
  expect(await attempts(trusting, '203.0.113.8, 10.1.2.3')).toEqual([401, 429])
  await using scene = await openHttpScene()
  expect(await attempts(scene, '203.0.113.7')).toEqual([401, 429])
  expect(await attempts(scene, '203.0.113.8')).toEqual([429])
})

test('a page of another origin can neither sign in, nor read, nor change anything with the cookie (W006)', async () => {
  await using scene = await openHttpScene({ advertisedUrl: 'http://ci.test' })
  const origin = scene.server.url
  for (const other of ['https://evil.test', 'null', 'http://ci.test.evil.test'])
    expect(await browse(scene, 'POST', '/v1/sessions', { body: { code: 'x' }, headers: { origin: other } }), other).toMatchObject(
      { status: 403 },
    )
  const { cookie } = await signIn(scene, { code: await newCode(scene) })
  const change = async (headers: Record<string, string>): Promise<number> =>
    (await browse(scene, 'POST', '/v1/validate', { cookie, headers, body: { document: 'steps: {}' } })).status
  expect(await change(OWN_PAGE)).toBe(200)
  expect(await change({ origin, [PAGE_HEADER]: '1' })).toBe(200)
  expect(await change({ origin: 'http://ci.test', [PAGE_HEADER]: '1' })).toBe(200)
  const refused: Record<string, string>[] = [
    {},
    { [PAGE_HEADER]: '1' },
    { 'sec-fetch-site': 'same-origin' },
    { origin },
    { origin: 'https://evil.test', [PAGE_HEADER]: '1' },
    ...['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site, [PAGE_HEADER]: '1', origin })),
  ]
  for (const headers of refused) expect(await change(headers), JSON.stringify(headers)).toBe(403)
  const read = async (site: string): Promise<number> =>
    (await browse(scene, 'GET', '/v1/whoami', { cookie, headers: { 'sec-fetch-site': site } })).status
  expect([await read('same-origin'), await read('none')]).toEqual([200, 200])
  expect([await read('cross-site'), await read('same-site')]).toEqual([403, 403])
  const preflight = await fetch(`${origin}/v1/validate`, { method: 'OPTIONS', headers: { origin: 'https://evil.test' } })
  expect(preflight.headers.get('access-control-allow-origin')).toBeNull()
})

test('the Authorization header takes precedence over the cookie', async () => {
  await using scene = await openHttpScene()
  const { cookie } = await signIn(scene, { code: await newCode(scene) })
  const authorization = `Bearer ${await newKey(scene, 'other')}`
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie, headers: { authorization } })).toMatchObject({
    body: { name: 'other' },
  })
  const wrong = { cookie, headers: { authorization: 'Bearer x' } }
  expect(await browse(scene, 'GET', '/v1/whoami', wrong)).toMatchObject({ status: 401 })
  // Neither is the value of the cookie a token, nor is a token a value of the cookie.
  expect(await browse(scene, 'GET', '/v1/whoami', { headers: { authorization: `Bearer ${cookie.slice(9)}` } })).toMatchObject({
    status: 401,
  })
  expect(await browse(scene, 'GET', '/v1/whoami', { cookie: `windlass=${scene.adminToken}` })).toMatchObject({ status: 401 })
})

test('signing out, revoking the session or deleting its key ends it at once (W006)', async () => {
  await using scene = await openHttpScene()
  const status = async (cookie: string): Promise<number> => (await browse(scene, 'GET', '/v1/whoami', { cookie })).status
  const key = await newKey(scene, 'mira')
  const [out, revoked, orphan] = [await signIn(scene, { key }), await signIn(scene, { key }), await signIn(scene, { key })]
  const left = await browse(scene, 'DELETE', '/v1/sessions/current', { cookie: out.cookie, headers: OWN_PAGE })
  expect(left.status).toBe(204)
  expect(left.headers.getSetCookie()).toEqual(['windlass=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict'])
  expect(left.headers.get('clear-site-data')).toBe('"cache"')
  expect(await status(out.cookie)).toBe(401)
  await scene.admin.text('DELETE', `/v1/sessions/${String(revoked.reply.body['id'])}`)
  expect([await status(revoked.cookie), await status(orphan.cookie)]).toEqual([401, 200])
  const { code } = await scene.nobody.withToken(key).call('POST', '/v1/sessions/codes', SessionCode)
  await scene.admin.text('DELETE', '/v1/keys/mira')
  expect(await status(orphan.cookie)).toBe(401)
  expect(await browse(scene, 'POST', '/v1/sessions', { body: { code } })).toMatchObject({ status: 401 })
  // A page with an old cookie can still show its sign-in.
  expect(await browse(scene, 'GET', '/v1/status', { cookie: orphan.cookie })).toMatchObject({ status: 200 })
})

test('a session ends after 12 hours without a call and after 7 days, and its secret changes every hour', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const current = (cookie: string): Promise<Reply> => browse(scene, 'GET', '/v1/sessions/current', { cookie })
  const idle = await signIn(scene, { code: await newCode(scene) })
  let { cookie } = await signIn(scene, { code: await newCode(scene) })
  expect((await current(cookie)).headers.getSetCookie()).toEqual([])
  clock.advance(HOUR_MS)
  const [first, second] = await Promise.all([current(cookie), current(cookie)])
  // Of two tabs one gets the new secret, and both go on.
  expect([first.status, second.status, first.headers.getSetCookie().length + second.headers.getSetCookie().length]).toEqual([
    200, 200, 1,
  ])
  const old = cookie
  cookie = cookieOf(first) === '' ? cookieOf(second) : cookieOf(first)
  expect(cookie.slice(0, 33)).toBe(old.slice(0, 33))
  expect((await current(old)).status).toBe(200)
  clock.advance(60_000)
  expect((await current(cookie)).status).toBe(200)
  clock.advance(11 * HOUR_MS)
  expect((await current(idle.cookie)).status).toBe(401)
  for (let hours = 12; hours < 7 * 24; hours += 6) {
    const reply = await current(cookie)
    expect(reply.status).toBe(200)
    cookie = cookieOf(reply) === '' ? cookie : cookieOf(reply)
    clock.advance(6 * HOUR_MS)
  }
  expect((await current(cookie)).status).toBe(401)
})

test('a browser that missed its new secret stays signed in and gets another one', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const current = (cookie: string): Promise<Reply> => browse(scene, 'GET', '/v1/sessions/current', { cookie })
  const { cookie } = await signIn(scene, { code: await newCode(scene) })
  clock.advance(HOUR_MS)
  const lost = cookieOf(await current(cookie))
  clock.advance(60_000)
  const next = cookieOf(await current(cookie))
  expect([lost, next].map((one) => one === '')).toEqual([false, false])
  expect((await current(lost)).status).toBe(401)
  clock.advance(60_000)
  expect((await current(next)).status).toBe(200)
  expect((await current(cookie)).status).toBe(401)
})

test('a superseded secret ends its session a minute after the rotation, whenever the new one was used first', async () => {
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock })
  const logged = vi.spyOn(scene.server.app.log, 'warn')
  const call = (path: string, cookie: string): Promise<Reply> => browse(scene, 'GET', path, { cookie })
  for (const { usedAfter, oldAfter } of [
    { usedAfter: 10_000, oldAfter: 61_000 },
    { usedAfter: 10_000, oldAfter: 11 * HOUR_MS },
    { usedAfter: 90_000, oldAfter: 100_000 },
  ]) {
    logged.mockClear()
    const { cookie: old, reply } = await signIn(scene, { code: await newCode(scene) })
    clock.advance(HOUR_MS)
    const next = cookieOf(await call('/v1/sessions/current', old))
    clock.advance(usedAfter)
    expect((await call('/v1/whoami', next)).status).toBe(200)
    if (usedAfter < 60_000) expect((await call('/v1/whoami', old)).status).toBe(200)
    clock.advance(oldAfter - usedAfter)
    const refused = await call('/v1/sessions/current', old)
    expect([refused.status, refused.headers.getSetCookie()]).toEqual([401, []])
    // Two browsers have secrets of one session, so one of them is stolen.
    expect((await call('/v1/whoami', next)).status).toBe(401)
    const ended = { audit: 'session-ended', session: reply.body['id'], of: 'admin', by: 'superseded-secret' }
    expect(logged.mock.calls.filter(([fields]) => Object.hasOwn(Object(fields), 'audit'))).toEqual([
      [ended, 'superseded session secret refused'],
    ])
  }
})

test('a session names the rights that it has for the installation or in a project', async () => {
  await using scene = await openHttpScene()
  await scene.admin.projects.put('shop', { name: 'shop' })
  await scene.admin.users.create({ name: 'guest', kind: 'service-account', role: 'none', projects: { shop: 'developer' } })
  const { token } = await scene.admin.keys.create({ name: 'g', owner: 'guest', role: 'admin' })
  const mayOf = async (key: string): Promise<string[]> => {
    const { cookie } = await signIn(scene, { key })
    const { body } = await browse(scene, 'GET', '/v1/sessions/current', { cookie })
    return z.object({ may: z.array(z.string()) }).parse(body).may
  }
  expect(await mayOf(scene.adminToken)).toEqual(Object.keys(RIGHTS))
  const guest = await mayOf(token)
  expect(guest).toContain('start-builds')
  for (const right of ['see-runners', 'manage-users', 'change-projects']) expect(guest).not.toContain(right)
})

test('a session follows a build by server-sent events', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await scene.start()
  await engine.log('step/hello', 'hello\n')
  await engine.succeed()
  const { cookie } = await signIn(scene, { code: await newCode(scene) })
  const follow = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${scene.server.url}/v1/builds/${build.id}/follow`, { headers: { accept: 'text/event-stream', ...headers } })
  const answer = await follow({ cookie, 'sec-fetch-site': 'same-origin' })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  expect(await answer.text()).toContain('event: end')
  expect((await follow({})).status).toBe(401)
})

test('a user sees and ends own sessions, an admin those of all keys', async () => {
  await using scene = await openHttpScene()
  const [mira, jo] = [await newKey(scene, 'mira'), await newKey(scene, 'jo')]
  const ofMira = await signIn(scene, { key: mira })
  const ofJo = await signIn(scene, { key: jo })
  const list = async (cookie: string): Promise<unknown[]> => {
    const { body } = await browse(scene, 'GET', '/v1/sessions', { cookie })
    return (body['items'] as Session[]).map(({ key, current }) => [key?.name, current])
  }
  expect(await list(ofMira.cookie)).toEqual([['mira', true]])
  const ofAdmin = await signIn(scene, { code: await newCode(scene) })
  expect(new Set(await list(ofAdmin.cookie))).toEqual(
    new Set([
      ['admin', true],
      ['jo', false],
      ['mira', false],
    ]),
  )
  const end = async (by: string, which: Reply): Promise<number> =>
    (await browse(scene, 'DELETE', `/v1/sessions/${String(which.body['id'])}`, { cookie: by, headers: OWN_PAGE })).status
  expect(await end(ofMira.cookie, ofJo.reply)).toBe(404)
  expect(await end(ofAdmin.cookie, ofJo.reply)).toBe(204)
  expect(await end(ofMira.cookie, ofMira.reply)).toBe(204)
  expect(await list(ofAdmin.cookie)).toEqual([['admin', true]])
})

test('a session cannot create sign-in codes, and the store has only hashes of secrets', async () => {
  await using scene = await openHttpScene()
  const code = await newCode(scene)
  const { cookie } = await signIn(scene, { code: await newCode(scene) })
  expect(await browse(scene, 'POST', '/v1/sessions/codes', { cookie, headers: OWN_PAGE })).toMatchObject({ status: 403 })
  const { query } = scene.server.app.store
  const rows = JSON.stringify([
    await query.selectFrom('session').selectAll().execute(),
    await query.selectFrom('session_code').selectAll().execute(),
  ])
  for (const secret of [code, cookie]) expect(rows).not.toContain(secret.split('.')[1])
})

test('a key can have 100 unused sign-in codes', async () => {
  await using scene = await openHttpScene()
  const { token } = await scene.admin.keys.create({ name: 'viewer', role: 'viewer' })
  const viewer = scene.nobody.withToken(token)
  for (let n = 0; n < 100; n += 1) await viewer.text('POST', '/v1/sessions/codes', { body: {} })
  await expect(viewer.text('POST', '/v1/sessions/codes', { body: {} })).rejects.toMatchObject({ code: 'rate-limited' })
  await scene.admin.text('POST', '/v1/sessions/codes', { body: {} })
})

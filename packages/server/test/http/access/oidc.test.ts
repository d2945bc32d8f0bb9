/** Sign-in through a real OpenID Connect provider. */
import { manualClock, systemClock } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OidcSettings } from '../../../src/identity/oidc/settings.ts'
import { CALLBACK_PATH } from '../../../src/identity/oidc/sign-in.ts'
import { browse, cookieOf } from '../../support/browser.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import { openBrowser, startProvider, type TestBrowser, type TestProvider } from '../../support/fakes/oidc-provider.ts'
import { DATABASES, type Database } from '../../support/stores.ts'

const BEGIN = '/v1/sessions/oidc'
const ROLES: OidcSettings['groupRoles'] = {
  platform: 'admin',
  staff: 'viewer',
  devs: 'developer',
  shop: { shop: 'developer' },
  leads: { shop: 'maintainer' },
}

interface OidcScene extends HttpScene {
  readonly provider: TestProvider
  readonly clock: ReturnType<typeof manualClock>
  /** Address at which a sign-in begins. */
  readonly begin: string
}

async function openScene(database: Database, settings: Partial<OidcSettings> = {}, isAccepting = true): Promise<OidcScene> {
  const provider = await startProvider()
  const clock = manualClock(systemClock.now())
  const oidc: OidcSettings = {
    issuer: provider.issuer,
    clientId: 'windlass',
    clientSecret: provider.clientSecret,
    scopes: ['openid', 'profile', 'groups'],
    name: 'Acme',
    groupsClaim: 'groups',
    defaultRole: 'none',
    groupRoles: ROLES,
    ...settings,
  }
  const scene = await openHttpScene({ ...(await database.fresh()), clock, oidc })
  if (isAccepting) provider.accept(scene.server.url + CALLBACK_PATH)
  return {
    ...scene,
    provider,
    clock,
    begin: scene.server.url + BEGIN,
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

/** Returns who the browser is signed in as. */
async function whoIs(scene: HttpScene, browser: TestBrowser): Promise<unknown> {
  const { status, body } = await browse(scene, 'GET', '/v1/whoami', { cookie: browser.cookiesFor(scene.server.url) })
  return status === 200 ? { name: body['name'], role: body['role'], kind: body['kind'] } : status
}

describe.each(DATABASES)('with $name', ({ open }) => {
  let database: Database
  beforeAll(async () => void (database = await open()))
  afterAll(async () => database[Symbol.asyncDispose]())

  test('the first sign-in creates the user, and groups set the roles at each sign-in (W005)', async () => {
    await using scene = await openScene(database)
    const { provider, admin, begin } = scene
    await admin.projects.create({ name: 'shop' })
    expect(await scene.nobody.server.status()).toMatchObject({ oidc: { name: 'Acme' } })
    provider.accounts.set('u-1', { preferred_username: 'Mira K', name: 'Mira Krause', groups: ['staff', 'shop', 'unknown'] })
    const browser = openBrowser()
    const page = await browser.signIn(begin, 'u-1')
    expect([page.url.href, page.status]).toEqual([`${scene.server.url}/signin`, 200])
    expect(await whoIs(scene, browser)).toEqual({ name: 'mira-k', role: 'viewer', kind: 'user' })
    expect(await admin.users.get('mira-k')).toMatchObject({
      state: 'active',
      subject: 'u-1',
      displayName: 'Mira Krause',
      role: 'viewer',
      projects: { shop: 'developer' },
    })
    const { token } = await admin.keys.create({ name: 'of-mira', role: 'admin', owner: 'mira-k' })
    const key = scene.nobody.withToken(token)
    expect(await key.server.whoami()).toMatchObject({ role: 'viewer' })
    provider.accounts.set('u-1', { preferred_username: 'renamed', groups: ['platform', 'shop', 'leads'] })
    await openBrowser().signIn(begin, 'u-1')
    expect(await key.server.whoami()).toMatchObject({ role: 'admin' })
    expect(await admin.users.get('mira-k')).toMatchObject({ role: 'admin', projects: { shop: 'maintainer' } })
    provider.accounts.set('u-1', { groups: [] })
    await openBrowser().signIn(begin, 'u-1')
    expect(await whoIs(scene, browser)).toEqual({ name: 'mira-k', role: 'none', kind: 'user' })
    expect((await admin.users.list()).items.filter(({ subject }) => subject !== undefined)).toMatchObject([
      { name: 'mira-k', role: 'none', projects: {} },
    ])
    const { items } = await admin.audit.list({ query: { user: 'mira-k' } })
    expect(items.filter(({ action }) => action.endsWith('/callback'))).toHaveLength(3)
  })

  test('without a mapping of groups, admins give roles and sign-ins keep them', async () => {
    await using scene = await openScene(database, { defaultRole: 'developer', groupRoles: undefined })
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['platform'] })
    const browser = openBrowser()
    await browser.signIn(scene.begin, 'u-1')
    expect(await whoIs(scene, browser)).toMatchObject({ role: 'developer' })
    await scene.admin.users.change('mira', { role: 'viewer' })
    await openBrowser().signIn(scene.begin, 'u-1')
    expect(await whoIs(scene, browser)).toMatchObject({ role: 'viewer' })
  })

  test('concurrent first sign-ins of a person create one user', async () => {
    await using scene = await openScene(database)
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['devs'] })
    const browsers = [openBrowser(), openBrowser(), openBrowser()]
    const pages = await Promise.all(browsers.map((browser) => browser.signIn(scene.begin, 'u-1')))
    expect(pages.map(({ url }) => url.pathname)).toEqual(['/signin', '/signin', '/signin'])
    for (const browser of browsers) expect(await whoIs(scene, browser)).toMatchObject({ name: 'mira', role: 'developer' })
    expect((await scene.admin.users.list()).items.filter(({ subject }) => subject === 'u-1')).toHaveLength(1)
  })

  test('a user of another origin is never taken over: an admin links the subject first', async () => {
    await using scene = await openScene(database)
    const { admin, provider, begin } = scene
    await admin.users.create({ name: 'mira', role: 'admin', password: 'correct horse battery' })
    await admin.users.create({ name: 'jo', role: 'viewer' })
    provider.accounts.set('u-9', { preferred_username: 'mira', groups: ['devs'] })
    const browser = openBrowser()
    const refused = await browser.signIn(begin, 'u-9')
    expect([refused.status, refused.url.pathname]).toEqual([409, CALLBACK_PATH])
    expect(refused.text).toContain('windlass set user mira --subject u-9')
    expect(await whoIs(scene, browser)).toBe(401)
    expect(await admin.users.change('mira', { subject: 'u-9' })).toMatchObject({ subject: 'u-9', role: 'admin' })
    await expect(admin.users.change('jo', { subject: 'u-9' })).rejects.toMatchObject({ code: 'conflict' })
    await browser.signIn(begin, 'u-9')
    expect(await whoIs(scene, browser)).toMatchObject({ name: 'mira', role: 'developer' })
    expect(await admin.users.change('mira', { subject: null })).not.toHaveProperty('subject')
    expect((await openBrowser().signIn(begin, 'u-9')).status).toBe(409)
    expect(await admin.users.change('jo', { subject: 'u-9' })).toMatchObject({ subject: 'u-9', state: 'active' })
  })

  test('a disabled or deleted user is signed out, and only the deleted one is created again', async () => {
    await using scene = await openScene(database)
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['devs'] })
    const browser = openBrowser()
    await browser.signIn(scene.begin, 'u-1')
    await scene.admin.users.change('mira', { disabled: true })
    expect(await whoIs(scene, browser)).toBe(401)
    const refused = await openBrowser().signIn(scene.begin, 'u-1')
    expect([refused.status, refused.text.includes('The user &quot;mira&quot; is disabled.')]).toEqual([401, true])
    const { id } = await scene.admin.users.get('mira')
    await scene.admin.users.delete('mira')
    await openBrowser().signIn(scene.begin, 'u-1')
    expect((await scene.admin.users.get('mira')).id).not.toBe(id)
  })

  test('a login of a command line is confirmed after a sign-in through the provider', async () => {
    await using scene = await openScene(database)
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['devs'] })
    const login = await scene.nobody.deviceLogins.start({ client: 'windlass on laptop' })
    const browser = openBrowser()
    expect((await browser.signIn(`${scene.begin}?to=device`, 'u-1')).url.pathname).toBe('/device')
    const cookie = browser.cookiesFor(scene.server.url)
    expect(await browse(scene, 'POST', `/v1/device-codes/${login.userCode}/approve`, { cookie })).toMatchObject({ status: 200 })
    const { key } = await scene.nobody.deviceLogins.poll({ deviceCode: login.deviceCode })
    expect(await scene.nobody.withToken(key?.token ?? '').server.whoami()).toMatchObject({
      role: 'developer',
      owner: { name: 'mira' },
    })
  })
})

describe('the answer of the provider', () => {
  let database: Database
  beforeAll(async () => void (database = await DATABASES[0].open()))
  afterAll(async () => database[Symbol.asyncDispose]())

  /** Goes through the provider, but stops before the server gets the answer. Returns its address. */
  async function answerOf(scene: OidcScene, browser: TestBrowser): Promise<URL> {
    const { server, provider } = scene
    const started = await fetch(scene.begin, { redirect: 'manual' })
    const [cookie = ''] = started.headers.getSetCookie()[0]?.split(';') ?? []
    const elsewhere = openBrowser()
    const page = await elsewhere.signIn(started.headers.get('location') ?? '', 'u-1')
    // The other browser has no cookie of the server, so the code of the address was not used.
    expect([page.status, page.url.origin]).toEqual([401, server.url])
    expect(new URL(started.headers.get('location') ?? '').origin).toBe(provider.issuer)
    browser.setCookie(server.url, cookie.split('=')[0] ?? '', cookie.slice(cookie.indexOf('=') + 1))
    return page.url
  }

  test('counts only in the browser that started, once, and for ten minutes', async () => {
    await using scene = await openScene(database)
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['devs'] })
    const browser = openBrowser()
    const answer = await answerOf(scene, browser)
    const cookie = browser.cookiesFor(scene.server.url)
    const other = openBrowser()
    await fetch(scene.begin, { redirect: 'manual' })
    expect((await other.open(answer.href)).text).toContain('This browser has not started the sign-in')
    const changed = new URL(answer)
    changed.searchParams.set('state', 'other')
    expect((await browser.open(changed.href)).status).toBe(401)
    expect(await whoIs(scene, browser)).toBe(401)
    const page = await browser.open(answer.href)
    expect([page.url.pathname, await whoIs(scene, browser)]).toMatchObject(['/signin', { name: 'mira' }])
    const again = await fetch(answer, { redirect: 'manual', headers: { cookie } })
    expect([again.status, await again.json()]).toMatchObject([
      401,
      { detail: expect.stringContaining('Acme refused the sign-in') },
    ])
    const late = openBrowser()
    const lateAnswer = await answerOf(scene, late)
    scene.clock.advance(10 * 60_000)
    expect((await late.open(lateAnswer.href)).status).toBe(401)
    expect(await whoIs(scene, late)).toBe(401)
  })

  test('the cookie of a sign-in cannot be changed, and reveals neither state nor verifier', async () => {
    await using scene = await openScene(database)
    const browser = openBrowser()
    const answer = await answerOf(scene, browser)
    const cookie = browser.cookiesFor(scene.server.url)
    const [keyId, , expires, random, mac] = cookie.slice(cookie.indexOf('=') + 1).split('.')
    expect(cookie).not.toContain(answer.searchParams.get('state'))
    const later = Number(expires) + 3_600_000
    for (const value of [
      [keyId, 'device', expires, random, mac],
      [keyId, 'signin', later, random, mac],
      [keyId, 'signin', expires, `${random}x`, mac],
      ['unknown', 'signin', expires, random, mac],
      [keyId, 'signin', expires, random],
    ]) {
      const sent = await fetch(answer, { redirect: 'manual', headers: { cookie: `windlass-login=${value.join('.')}` } })
      expect([sent.status, sent.headers.getSetCookie()]).toEqual([401, []])
    }
  })

  test('an error is shown with the text of the provider, escaped and without a session (W005)', async () => {
    await using scene = await openScene(database)
    const browser = openBrowser()
    const login = await browser.open(scene.begin)
    const page = await browser.open(`${login.url.href}/abort`)
    expect(page.status).toBe(401)
    expect(page.text).toContain('Acme refused the sign-in: End-User aborted interaction')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await whoIs(scene, browser)).toBe(401)
    await browser.open(scene.begin)
    const state = new URL((await fetch(scene.begin, { redirect: 'manual' })).headers.get('location') ?? '').searchParams
    const query = new URLSearchParams({
      error: 'x',
      error_description: '<script>alert(1)</script>',
      state: state.get('state') ?? '',
    })
    const forged = await browser.open(`${scene.server.url}${CALLBACK_PATH}?${query.toString()}`)
    expect([forged.status, forged.text.includes('<script>')]).toEqual([401, false])
  })

  test('a provider that does not respond is named, and sign-ins work when it is back', async () => {
    await using scene = await openScene(database, {}, false)
    const down = await openBrowser().open(scene.begin)
    expect(down.status).toBeGreaterThanOrEqual(401)
    expect(down.text).toContain('Acme')
    scene.provider.accept(scene.server.url + CALLBACK_PATH)
    scene.provider.accounts.set('u-1', { preferred_username: 'mira', groups: ['devs'] })
    const browser = openBrowser()
    await browser.signIn(scene.begin, 'u-1')
    expect(await whoIs(scene, browser)).toMatchObject({ name: 'mira' })
  })

  test('a wrong client secret is an error that names the setting', async () => {
    await using scene = await openScene(database, { clientSecret: 'wrong' })
    const page = await openBrowser().signIn(scene.begin, 'u-1')
    expect([page.status, page.text.includes('OIDC_CLIENT_SECRET')]).toEqual([401, true])
  })

  test('a server without a provider says so', async () => {
    await using scene = await openHttpScene()
    const page = await openBrowser().open(scene.server.url + BEGIN)
    expect([page.status, page.text.includes('has no OpenID Connect provider')]).toEqual([404, true])
    expect(await scene.nobody.server.status()).not.toHaveProperty('oidc')
    expect(cookieOf({ status: 0, body: {}, headers: page.headers })).toBe('')
  })
})

/** Tokens of OAuth apps: the server renews them before they expire, once, and keeps the access if a renewal fails. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { readGitLogin, requireGitAccess, type GitLogin } from '../../../src/contexts/git-login.ts'
import { toContext } from '../../../src/contexts/context-data.ts'
import { openAccess } from '../../../src/forges/ask.ts'
import { findContext } from '../../../src/store/account/contexts.ts'
import type { ContextRow } from '../../../src/store/schema/schema.ts'
import { LOOPBACK } from '../../support/fakes/fake-forge.ts'
import { openScene, PROTOCOL, startAttempt, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { LIFETIME_S, openTokenService, putLogin } from '../../support/fakes/token-service.ts'

const LIFETIME_MS = LIFETIME_S * 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

async function rowOf(app: App): Promise<ContextRow> {
  const row = await findContext(app.store.query, app.accountId, 'work')
  if (row === undefined) throw new Error('the context is missing')
  return row
}

const read = async (app: App): Promise<GitLogin> => readGitLogin(app, await rowOf(app))

describe.each(DATABASES)('tokens of OAuth apps on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('renews a token before it expires, and stores the next refresh token sealed', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    expect(await read(app)).toMatchObject({ password: 'access-1', expiresAt: clock.now() + LIFETIME_MS })
    clock.advance(LIFETIME_MS - 11 * MINUTE_MS)
    expect(await read(app)).toMatchObject({ password: 'access-1' })
    expect(service.calls).toEqual([])
    clock.advance(2 * MINUTE_MS)
    expect(await read(app)).toMatchObject({ password: 'access-2', expiresAt: clock.now() + LIFETIME_MS })
    const client = { client_id: 'app-id', client_secret: 'app-secret' }
    expect(service.calls).toEqual([{ grant_type: 'refresh_token', refresh_token: 'refresh-1', ...client }])
    clock.advance(2 * LIFETIME_MS)
    expect(await read(app)).toMatchObject({ password: 'access-3' })
    expect(service.calls[1]).toMatchObject({ refresh_token: 'refresh-2' })
    const row = await rowOf(app)
    expect(row.data).not.toMatch(/access-|refresh-|app-secret/)
    expect(toContext(row)).toMatchObject({
      data: { password: '*****', oauthSecret: '*****', oauthRefreshToken: '*****', oauthApp: 'app-id' },
      expiresAt: clock.now() + LIFETIME_MS,
    })
  })

  test('calls that find an expired token at the same time renew it once and all get the new one', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS + MINUTE_MS)
    const row = await rowOf(app)
    let isDone = false
    const all = Promise.all(Array.from({ length: 8 }, () => readGitLogin(app, row))).finally(() => (isDone = true))
    // Those that wait give up after 20 s of the clock, so it stands still until the new token is stored.
    await expect.poll(async () => toContext(await rowOf(app)).expiresAt).toBeGreaterThan(clock.now())
    while (!isDone) {
      clock.advance(200)
      await new Promise((resolve) => void setTimeout(resolve, 5))
    }
    expect((await all).map(({ password }) => password)).toEqual(Array.from({ length: 8 }, () => 'access-2'))
    expect(service.calls).toHaveLength(1)
  })

  test('an engine gets the access without the secrets of the app, and a fresh token while the build runs', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    const scene = await openScene(app)
    await putLogin(app, service)
    const key = await startAttempt(scene, await submit(scene, {}))
    const { git } = await claimAttempt(app, key, { ...PROTOCOL, claimKey: 'claim-key-of-the-engine' })
    const access = { context: 'work', isDefault: false, url: service.url, username: 'windlass' }
    expect(git).toEqual([{ ...access, password: 'access-1', expiresAt: clock.now() + LIFETIME_MS }])
    clock.advance(3 * HOUR_MS)
    expect(await requireGitAccess(app, 'work')).toEqual({
      ...access,
      password: 'access-2',
      expiresAt: clock.now() + LIFETIME_MS,
    })
  })

  test('a lost answer keeps the token, and the same refresh token is sent again', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    service.hasGrace = true
    await putLogin(app, service)
    clock.advance(LIFETIME_MS - 5 * MINUTE_MS)
    service.onCall = () => 'lost'
    expect(await read(app)).toMatchObject({ password: 'access-1' })
    expect(toContext(await rowOf(app)).problem).toMatch(/^The token was not renewed: 127\.0\.0\.1 cannot be reached/)
    expect(await read(app)).toMatchObject({ password: 'access-1' })
    expect(service.calls).toHaveLength(1)
    service.onCall = () => 'tokens'
    clock.advance(MINUTE_MS)
    expect((await read(app)).password).toBe('access-3')
    expect(service.calls.map(({ refresh_token: token }) => token)).toEqual(['refresh-1', 'refresh-1'])
    expect(toContext(await rowOf(app)).problem).toBeUndefined()
  })

  test('an expired token of a forge that is away is a problem that a later call may not have', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    service.onCall = () => 'no-answer'
    expect(await openAccess(app, { forge: 'gitea', context: 'work' })).toMatchObject({ mayRetry: true })
    await expect(requireGitAccess(app, 'work')).rejects.toMatchObject({ code: 'forge-unreachable', retryable: true })
    service.onCall = () => 'tokens'
    clock.advance(MINUTE_MS)
    expect(await openAccess(app, { forge: 'gitea', context: 'work' })).toMatchObject({
      value: { login: { password: 'access-2' } },
    })
  })

  test('a refusal is shown with the command that connects again, and does not end the access before its time', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS - 5 * MINUTE_MS)
    service.onCall = () => 'refused'
    expect(await read(app)).toMatchObject({ password: 'access-1' })
    const problem =
      `127.0.0.1 refuses to renew the token (invalid_grant). Connect again: ` +
      `\`windlass connect git work --forge gitea --url ${service.url} --oauth-app app-id\`.`
    expect(toContext(await rowOf(app)).problem).toBe(problem)
    clock.advance(10 * MINUTE_MS)
    expect(await openAccess(app, { forge: 'gitea', context: 'work' })).toMatchObject({ problem, mayRetry: false })
    await expect(requireGitAccess(app, 'work')).rejects.toMatchObject({ code: 'forge-refused', message: problem })
    expect(service.calls).toHaveLength(1)
    await putLogin(app, service, { password: 'new-access', oauthRefreshToken: 'new-refresh' })
    expect(await read(app)).toMatchObject({ password: 'new-access', expiresAt: clock.now() + LIFETIME_MS })
    expect(toContext(await rowOf(app)).problem).toBeUndefined()
  })

  test('a change of the context during a renewal keeps the new token, and new tokens of a user win', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    const kept = { password: '*****', oauthRefreshToken: '*****', oauthSecret: '*****' }
    clock.advance(LIFETIME_MS)
    service.onCall = async () => {
      await putLogin(app, service, { ...kept, username: 'other' })
      return 'tokens' as const
    }
    expect(await read(app)).toMatchObject({ username: 'other', password: 'access-2' })
    clock.advance(LIFETIME_MS)
    service.onCall = async () => {
      await putLogin(app, service, { password: 'new-access', oauthRefreshToken: 'new-refresh' })
      return 'tokens' as const
    }
    expect(await read(app)).toMatchObject({ password: 'new-access' })
    clock.advance(LIFETIME_MS)
    service.onCall = () => 'refused'
    await read(app)
    expect(service.calls.at(-1)).toMatchObject({ refresh_token: 'new-refresh' })
  })

  test('rejects a login that cannot be renewed, and one whose refresh token would go to another host', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    await expect(putLogin(app, service, { oauthExpiresIn: 'soon' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(putLogin(app, service, { oauthForge: 'azure' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(putLogin(app, service, { oauthApp: 'a b' })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(putLogin(app, { url: 'git@git.example.com' })).rejects.toMatchObject({ code: 'request-invalid' })
    await putLogin(app, service)
    const kept = { oauthRefreshToken: '*****', oauthSecret: '*****' }
    await expect(putLogin(app, { url: 'https://elsewhere.example.com' }, kept)).rejects.toThrow(/"url" changes/)
    expect(service.calls).toEqual([])
  })
})

/** Renewals of tokens that meet odd answers, a database that is away, a server that stops, and writes of users and of older servers. */
import { setTimeout as pause } from 'node:timers/promises'
import { ContextInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { App } from '../../../src/app.ts'
import { toContext } from '../../../src/contexts/context-data.ts'
import { putContext } from '../../../src/contexts/contexts.ts'
import { readGitLogin, requireGitAccess, type GitLogin } from '../../../src/contexts/git-login.ts'
import { findContext, updateRenewal } from '../../../src/store/account/contexts.ts'
import type { ContextRow } from '../../../src/store/schema/schema.ts'
import { LOOPBACK } from '../../support/fakes/fake-forge.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { LIFETIME_S, openTokenService, putLogin, type Outcome } from '../../support/fakes/token-service.ts'

const LIFETIME_MS = LIFETIME_S * 1000
const SECOND_MS = 1000
const MINUTE_MS = 60_000
const KEPT = { password: '*****', oauthRefreshToken: '*****', oauthSecret: '*****' }

async function rowOf(app: App): Promise<ContextRow> {
  const row = await findContext(app.store.query, app.accountId, 'work')
  if (row === undefined) throw new Error('the context is missing')
  return row
}

const read = async (app: App): Promise<GitLogin> => readGitLogin(app, await rowOf(app))

/** Writes the Git context `work` without an OAuth app. */
async function putStatic(app: App, url: string): Promise<void> {
  const input = ContextInput.parse({ name: 'work', type: 'git', data: { url, username: 'windlass', password: 'static' } })
  await putContext(app, { input, mustBeNew: false })
}

/** Makes every access to contexts fail until `restore` is called. */
async function breakContexts(app: App): Promise<{ restore(): Promise<void> }> {
  const rename = async (from: string, to: string): Promise<void> => {
    await app.store.write((tx) => sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(tx.query))
  }
  await rename('context', 'context_away')
  return { restore: () => rename('context_away', 'context') }
}

describe.each(DATABASES)('faults of renewals of tokens on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test.each([
    ['404', { status: 404, body: 'not found' }],
    ['403 of a proxy', { status: 403, body: '<html>blocked</html>' }],
    ['302', { status: 302, body: '' }],
    ['HTML with 200', { status: 200, body: '<html>maintenance</html>' }],
    ['an error that passes', { status: 400, body: '{"error":"temporarily_unavailable"}' }],
    ['a refusal of a proxy with 503', { status: 503, body: '{"error":"invalid_client"}' }],
  ])('an answer that is no refusal is tried again after 30 s: %s', async (_name, answer) => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    service.onCall = () => answer
    await expect(requireGitAccess(app, 'work')).rejects.toMatchObject({ code: 'forge-unreachable', retryable: true })
    expect(toContext(await rowOf(app)).problem).toMatch(/^The token was not renewed: 127\.0\.0\.1 answered \d{3}/)
    service.onCall = () => 'tokens'
    clock.advance(30 * SECOND_MS)
    expect((await read(app)).password).toBe('access-2')
    expect(service.calls).toHaveLength(2)
  })

  test.each([
    [400, 'invalid_grant'],
    [401, 'invalid_client'],
    [400, 'unauthorized_client'],
    [200, 'bad_refresh_token'],
    [200, 'incorrect_client_credentials'],
  ])('%i with %s is a refusal, which is tried again after an hour', async (status, error) => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    service.onCall = () => ({ status, body: JSON.stringify({ error }) })
    await expect(requireGitAccess(app, 'work')).rejects.toMatchObject({ code: 'forge-refused' })
    expect(toContext(await rowOf(app)).problem).toContain(`refuses to renew the token (${error}).`)
    clock.advance(59 * MINUTE_MS)
    await read(app)
    expect(service.calls).toHaveLength(1)
  })

  test('tokens without a lifetime are stored with the earlier lifetime, because the forge has replaced the refresh token', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    const tokens = { access_token: 'access-other', refresh_token: 'refresh-other', token_type: 'bearer' }
    service.onCall = () => ({ status: 200, body: JSON.stringify(tokens) })
    expect(await read(app)).toMatchObject({ password: 'access-other', expiresAt: clock.now() + LIFETIME_MS })
  })

  test('a server that closes waits for the answer of a forge and stores it', async () => {
    await using service = await openTokenService()
    const options = { ...LOOPBACK, ...(await database.fresh()) }
    const held = await openTestApp(database, options)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    const answer = Promise.withResolvers<Outcome>()
    service.onCall = () => answer.promise
    const reading = read(app).catch(() => undefined)
    await expect.poll(() => service.calls).toHaveLength(1)
    const closed = held[Symbol.asyncDispose]()
    await Promise.race([closed, pause(200)])
    answer.resolve('tokens')
    await Promise.all([closed, reading])
    await using next = await openTestApp(database, { ...options, startAt: clock.now() })
    expect(await read(next.app)).toMatchObject({ password: 'access-2' })
    expect(service.calls).toHaveLength(1)
  })

  test('a server that closes tries to store tokens until the database accepts them', async () => {
    await using service = await openTokenService()
    const options = { ...LOOPBACK, ...(await database.fresh()) }
    const held = await openTestApp(database, options)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    const write = vi.spyOn(app.store, 'write')
    let broken: { restore(): Promise<void> } | undefined
    service.onCall = async (): Promise<Outcome> => {
      broken = await breakContexts(app)
      return 'tokens'
    }
    const reading = read(app).catch(() => undefined)
    await expect.poll(() => broken).toBeDefined()
    const closed = held[Symbol.asyncDispose]()
    await Promise.race([closed, pause(200)])
    // The first try has failed, and the next one waits for the clock.
    await expect.poll(() => write.mock.settledResults.map(({ type }) => type)).toContain('rejected')
    await broken?.restore()
    clock.advance(15 * SECOND_MS)
    await Promise.all([closed, reading])
    await using next = await openTestApp(database, { ...options, startAt: clock.now() })
    expect(await read(next.app)).toMatchObject({ password: 'access-2' })
  })

  test('a server that closes gives up after 20 s', async () => {
    await using service = await openTokenService()
    const held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    const answer = Promise.withResolvers<Outcome>()
    service.onCall = () => answer.promise
    const reading = read(app).catch(() => 'cut')
    await expect.poll(() => service.calls).toHaveLength(1)
    let isClosed = false
    const closed = Promise.resolve(held[Symbol.asyncDispose]()).finally(() => (isClosed = true))
    await pause(200)
    expect(isClosed).toBe(false)
    // The wait starts after other parts have closed, so one step of the clock could come too early.
    while (!isClosed) {
      clock.advance(20 * SECOND_MS)
      await pause(10)
    }
    await closed
    expect(await reading).toBe('cut')
    answer.resolve('no-answer')
  })

  test('a write of the context during a renewal does not start a second one', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS - 5 * MINUTE_MS)
    service.onCall = async (): Promise<Outcome> => {
      service.onCall = () => 'tokens'
      await putLogin(app, service, { ...KEPT, username: 'other' })
      await read(app)
      return 'tokens'
    }
    expect(await read(app)).toMatchObject({ username: 'other', password: 'access-2' })
    expect(service.calls).toHaveLength(1)
  })

  test('a write of the context after a refusal renews the token at once, but not during the next renewal', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS - 5 * MINUTE_MS)
    service.onCall = () => 'refused'
    await read(app)
    await putLogin(app, service, KEPT)
    service.onCall = async (): Promise<Outcome> => {
      await putLogin(app, service, KEPT)
      await read(app)
      return 'refused'
    }
    await read(app)
    expect(service.calls).toHaveLength(2)
    clock.advance(61 * MINUTE_MS)
    await read(app)
    expect(service.calls).toHaveLength(3)
  })

  test('no server sends a refresh token again while another one cannot store the answer', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS - 9 * MINUTE_MS)
    const write = vi.spyOn(app.store, 'write')
    let broken: { restore(): Promise<void> } | undefined
    service.onCall = async (): Promise<Outcome> => {
      service.onCall = () => 'tokens'
      broken = await breakContexts(app)
      return 'tokens'
    }
    const reading = read(app)
    await expect.poll(() => broken).toBeDefined()
    for (let seconds = 0; seconds < 300; seconds += 20) {
      await pause(20)
      clock.advance(20 * SECOND_MS)
    }
    await pause(100)
    // The last try has failed, too.
    await expect.poll(() => write.mock.settledResults.map(({ type }) => type)).not.toContain('incomplete')
    await broken?.restore()
    expect(await read(app)).toMatchObject({ password: 'access-1' })
    expect(service.calls).toHaveLength(1)
    clock.advance(20 * SECOND_MS)
    expect(await reading).toMatchObject({ password: 'access-2' })
    expect(await read(app)).toMatchObject({ password: 'access-2' })
  })

  test('a login that a server without OAuth columns has replaced does not expire', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putLogin(app, service)
    clock.advance(LIFETIME_MS)
    service.onCall = () => 'refused'
    await read(app)
    const { expires_at, renew_after, problem, refused_at } = await rowOf(app)
    await putStatic(app, service.url)
    // The upsert of such a server does not name these columns.
    const left = { expires_at, renew_after, problem, refused_at }
    const { id } = await rowOf(app)
    await app.store.write((tx) => updateRenewal(tx, id, left))
    const access = await requireGitAccess(app, 'work')
    expect(access).toMatchObject({ password: 'static' })
    expect(access).not.toHaveProperty('expiresAt')
    expect(toContext(await rowOf(app))).not.toHaveProperty('expiresAt')
    expect(toContext(await rowOf(app))).not.toHaveProperty('problem')
    clock.advance(2 * LIFETIME_MS)
    expect(await requireGitAccess(app, 'work')).toMatchObject({ password: 'static' })
    expect(service.calls).toHaveLength(1)
  })

  test('an OAuth app that is added to a kept password renews it', async () => {
    await using service = await openTokenService()
    await using held = await openTestApp(database, LOOPBACK)
    const { app, clock } = held
    await putStatic(app, service.url)
    const context = await putLogin(app, service, { password: '*****' })
    expect(context.expiresAt).toBe(clock.now() + LIFETIME_MS)
    expect(await read(app)).toMatchObject({ password: 'static' })
    clock.advance(LIFETIME_MS)
    expect(await read(app)).toMatchObject({ password: 'access-2' })
  })

  test('a variable named like a field of OAuth apps has no effect', async () => {
    await using held = await openTestApp(database, LOOPBACK)
    const { app } = held
    const input = ContextInput.parse({ name: 'work', type: 'config', data: { oauthExpiresIn: 'soon' } })
    const { context } = await putContext(app, { input, mustBeNew: false })
    expect(context).not.toHaveProperty('expiresAt')
  })
})

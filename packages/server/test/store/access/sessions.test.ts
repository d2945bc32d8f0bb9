import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { findKeyActor } from '../../../src/identity/keys/key-actor.ts'
import { createKey, deleteKey } from '../../../src/identity/keys/keys.ts'
import { authenticateSession, listLiveSessions, showSession } from '../../../src/identity/sessions/sessions.ts'
import { createSessionCode, startSession } from '../../../src/identity/sessions/sign-in.ts'
import { openRateLimit } from '../../../src/http/rate-limit.ts'
import { retain } from '../../../src/retention.ts'
import type { App } from '../../../src/app.ts'
import type { KeyActor } from '../../../src/identity/actor.ts'
import { findSession, replaceUnusedSecret } from '../../../src/store/access/sessions.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const REQUEST = { method: 'POST', headers: {}, protocol: 'http' }

async function newActor(app: App): Promise<KeyActor> {
  // Another admin key, so that the one of the test can be deleted.
  await createKey(app, { name: 'admin', role: 'admin' })
  const { id } = await createKey(app, { name: 'mira', role: 'developer' })
  const actor = await findKeyActor(app.store.query, id)
  if (actor === undefined) throw new Error('the key was not created')
  return actor
}

type Started = Awaited<ReturnType<typeof startSession>>

async function start(app: App, code: string): Promise<Started | undefined> {
  const authenticator = openAuthenticator(app.store.query, app.vault)
  const checks = { authenticator, passwords: openRateLimit(app.clock, 10) }
  return startSession(app, checks, { input: { code }, request: REQUEST, address: '127.0.0.1' }).catch(() => undefined)
}

describe.each(DATABASES)('sessions on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('of many concurrent calls with one code exactly one starts a session (W002)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const actor = await newActor(app)
    const { code } = await createSessionCode(app, actor)
    const started = await Promise.all(Array.from({ length: 10 }, () => start(app, code)))
    expect(started.filter((one) => one !== undefined)).toHaveLength(1)
    expect(await listLiveSessions(app, actor)).toHaveLength(1)
  })

  test('of many concurrent calls exactly one gets the new secret of a session', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const actor = await newActor(app)
    const started = await start(app, (await createSessionCode(app, actor)).code)
    if (started === undefined) throw new Error('no session was started')
    clock.advance(3_600_000)
    const request = { ...REQUEST, headers: { cookie: started.cookie } }
    const show = (): ReturnType<typeof showSession> => showSession(app, { ...actor, session: started.session.id }, request)
    const shown = await Promise.all(Array.from({ length: 10 }, show))
    expect(shown.filter(({ cookie }) => cookie !== undefined)).toHaveLength(1)
  })

  test('the first call with a new secret writes it once, and a concurrent call with the previous one does not replace it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const actor = await newActor(app)
    const started = await start(app, (await createSessionCode(app, actor)).code)
    if (started === undefined) throw new Error('no session was started')
    const own = { ...actor, session: started.session.id }
    const of = (cookie: string): typeof REQUEST => ({
      ...REQUEST,
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      method: 'GET',
    })
    clock.advance(3_600_000)
    const rotated = await showSession(app, own, of(started.cookie))
    const next = rotated.cookie ?? ''
    const write = vi.spyOn(app.store, 'write')
    await authenticateSession(app, of(started.cookie))
    write.mockClear()
    for (let n = 0; n < 3; n += 1) await authenticateSession(app, of(next))
    expect(write).toHaveBeenCalledTimes(1)
    clock.advance(50_000)
    await Promise.all([authenticateSession(app, of(next)), authenticateSession(app, of(started.cookie))])
    expect(write).toHaveBeenCalledTimes(1)
    // Another server read the session before the new secret arrived.
    const row = await findSession(app.store.query, started.session.id)
    if (row === undefined) throw new Error('the session has ended')
    const stale = { ...row, used_hash: row.previous_hash }
    expect(await app.store.write((tx) => replaceUnusedSecret(tx, stale, { hash: 'x', rotated_at: 1 }))).toBe(false)
    expect(await authenticateSession(app, of(next))).toMatchObject({ kind: 'key' })
  })

  test('retention deletes ended sessions and codes, and a deleted key takes its own along', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const actor = await newActor(app)
    const count = async (): Promise<number[]> => [
      (await app.store.query.selectFrom('session').select('id').execute()).length,
      (await app.store.query.selectFrom('session_code').select('id').execute()).length,
    ]
    const add = async (): Promise<void> => {
      await start(app, (await createSessionCode(app, actor)).code)
      await createSessionCode(app, actor)
    }
    await add()
    await retain(app)
    expect(await count()).toEqual([1, 1])
    clock.advance(12 * 3_600_000)
    await retain(app)
    expect(await count()).toEqual([0, 0])
    await add()
    await deleteKey(app, actor, 'mira')
    expect(await count()).toEqual([0, 0])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAuthenticator } from '../../src/identity/authenticate.ts'
import { createKey, deleteKey } from '../../src/identity/keys.ts'
import { createSessionCode, listLiveSessions, showSession, startSession } from '../../src/identity/sessions.ts'
import { retain } from '../../src/retention.ts'
import type { App } from '../../src/app.ts'
import type { Actor } from '../../src/identity/actor.ts'
import { DATABASES, openTestApp, type Database } from '../support/stores.ts'

const REQUEST = { method: 'POST', headers: {}, protocol: 'http' }

async function newActor(app: App): Promise<Extract<Actor, { kind: 'key' }>> {
  const { id } = await createKey(app, { name: 'mira', role: 'user' })
  return { kind: 'key', id, accountId: app.accountId, name: 'mira', role: 'user' }
}

type Started = Awaited<ReturnType<typeof startSession>>

async function start(app: App, code: string): Promise<Started | undefined> {
  const authenticator = openAuthenticator(app.store.query, app.vault)
  return startSession(app, authenticator, { input: { code }, request: REQUEST, address: '127.0.0.1' }).catch(() => undefined)
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
    await deleteKey(app, 'mira')
    expect(await count()).toEqual([0, 0])
  })
})

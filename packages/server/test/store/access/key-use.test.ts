/** When keys are used, and that revoked ones are refused, on two servers with one database. */
import { newId } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAuthenticator } from '../../../src/identity/authenticate.ts'
import { openKeyUses } from '../../../src/identity/keys/key-use.ts'
import { createKey, deleteKey, listKeys } from '../../../src/identity/keys/keys.ts'
import type { Actor } from '../../../src/identity/actor.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

/** Returns what a server of the database uses to check keys. */
function replica({ app }: TestApp) {
  const authenticator = openAuthenticator(app.store.query, app.vault, undefined, openKeyUses(app))
  return { call: (token: string) => authenticator.authenticate(token, app.clock.now()), forget: authenticator.forget }
}

const ADMIN: Actor = { kind: 'key', id: newId(0), accountId: '', name: 'admin', role: 'admin', isFull: true, isUser: true }

describe.each(DATABASES)('keys on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a revoked key is refused on another server within three seconds (W085)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [one, other] = [replica(held), replica(held)]
    await createKey(app, { name: 'root', role: 'admin' })
    const { id, token } = await createKey(app, { name: 'ci', role: 'developer' })
    await one.call(token)
    await other.call(token)
    await deleteKey(app, ADMIN, 'ci')
    one.forget(id)
    await expect(one.call(token)).rejects.toMatchObject({ code: 'unauthenticated' })
    clock.advance(3_000)
    await expect(other.call(token)).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('records the use of a key within a minute (W085)', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const [one, other] = [replica(held), replica(held)]
    const { token } = await createKey(app, { name: 'ci', role: 'developer' })
    const usedAt = async () => (await listKeys(app, ADMIN)).find(({ name }) => name === 'ci')?.usedAt
    expect(await usedAt()).toBeUndefined()
    await one.call(token)
    await expect.poll(usedAt).toBe(clock.now())
    for (let n = 0; n < 20; n += 1) {
      clock.advance(7_000)
      await one.call(token)
      await expect.poll(async () => clock.now() - ((await usedAt()) ?? 0)).toBeLessThan(60_000)
    }
    await other.call(token)
    await expect.poll(usedAt).toBe(clock.now())
  })
})

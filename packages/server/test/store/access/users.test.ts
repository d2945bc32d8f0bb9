import { sha256, silentLog, systemClock } from '@windlass/kit'
import { openAuditCheck, UserInput, type AuditRecord } from '@windlass/protocol'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { inCall, noteDetail, type AuditedCall } from '../../../src/audit/call.ts'
import { decideDeviceLogin, pollDeviceLogin, startDeviceLogin } from '../../../src/identity/sessions/device-codes.ts'
import { addRecord } from '../../../src/audit/record.ts'
import { acceptInvitation } from '../../../src/identity/users/invitations.ts'
import { findUserActor } from '../../../src/identity/keys/key-actor.ts'
import { createKey } from '../../../src/identity/keys/keys.ts'
import { changeUser, createUser, requireUser } from '../../../src/identity/users/users.ts'
import { retain } from '../../../src/retention.ts'
import { findAuditChain, listAuditRecords } from '../../../src/store/access/audit.ts'
import { openDialect } from '../../../src/store/database/dialect.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const PASSWORD = 'correct horse battery'
const FROM = { request: { method: 'POST', headers: {}, protocol: 'http' }, address: '127.0.0.1' }

async function addUser(app: App, name: string, more: object = {}): ReturnType<typeof createUser> {
  return createUser(app, UserInput.parse({ name, ...more }))
}

function succeeded(results: readonly PromiseSettledResult<unknown>[]): number {
  return results.filter(({ status }) => status === 'fulfilled').length
}

/** Returns the audit log, oldest first. */
async function recordsOf(app: App): Promise<readonly AuditRecord[]> {
  const all = { order: 'oldest', after: undefined, user: undefined, result: undefined, limit: 10_000 } as const
  return (await listAuditRecords(app.store.query, app.accountId, all)).records
}

/** Returns what is wrong with the audit log. */
async function verify(app: App): Promise<string | undefined> {
  const { last, deleted } = await findAuditChain(app.store.query, app.accountId)
  const check = openAuditCheck(deleted, sha256)
  const records = await recordsOf(app)
  const problem = records.map(check).find((one) => one !== undefined)
  return problem ?? ((records.at(-1)?.hash ?? deleted.hash) === last.hash ? undefined : 'the last records are missing')
}

function callOf(name: string): AuditedCall {
  const caller = { kind: 'key', id: name, name }
  return { caller, action: 'PUT /v1/x', target: '/v1/x', address: '::1', client: undefined, requestId: name, isRecorded: false }
}

/** Writes a row within an audited call. */
async function writeInCall(app: App, name: string, key = name): Promise<AuditedCall> {
  const call = callOf(name)
  await inCall(call, () => app.store.write((tx) => tx.query.insertInto('meta').values({ key, value: 'x' }).execute()))
  return call
}

/** Adds copies of the last record, without hashes of their own: adding thousands as the server does takes a minute in one transaction of PostgreSQL. */
async function repeatLast({ store, accountId }: App, count: number): Promise<void> {
  const { last } = await findAuditChain(store.query, accountId)
  const row = await store.query.selectFrom('audit').selectAll().where('seq', '=', last.seq).executeTakeFirstOrThrow()
  await store.write(async ({ query }) => {
    for (let n = 1; n <= count; n += 500) {
      const copies = Array.from({ length: Math.min(500, count - n + 1) }, (_, index) => ({ ...row, seq: last.seq + n + index }))
      await query.insertInto('audit').values(copies).execute()
    }
    await query
      .updateTable('audit_chain')
      .set({ seq: last.seq + count })
      .execute()
  })
}

describe.each(DATABASES)('users on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('the oldest admin key of an existing installation gets a user, and other keys stay as they are', async () => {
    const place = await database.fresh({ isBare: true })
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '031'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => older } }).migrateToLatest()
    expect(error).toBeUndefined()
    const account = 'a'.repeat(24)
    await sql`insert into account (id, name, last_build_number, settings, created_at) values (${account}, 'default', 0, '{}', 1000)`.execute(
      before.query,
    )
    const keys = [
      ['1', 'Scoped', 'admin', '["key:write"]', 1000],
      ['2', 'Team/First Admin', 'admin', null, 2000],
      ['3', 'later', 'admin', null, 3000],
      ['4', 'ci', 'user', null, 4000],
    ] as const
    for (const [id, name, role, scopes, at] of keys)
      await sql`insert into api_key (id, account_id, name, role, scopes, hash, created_at)
        values (${id.repeat(24)}, ${account}, ${name}, ${role}, ${scopes}, 'h', ${at})`.execute(before.query)
    await before.close()
    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    const users = await query.selectFrom('user_account').select(['id', 'name', 'kind', 'role', 'password']).execute()
    expect(users).toEqual([
      { id: expect.stringMatching(/^[0-9a-f]{24}$/), name: 'team-first-admin', kind: 'user', role: 'admin', password: null },
    ])
    const owned = await query.selectFrom('api_key').select(['name', 'role', 'user_id']).orderBy('created_at').execute()
    expect(owned.map(({ name, role, user_id: owner }) => [name, role, owner])).toEqual([
      ['Scoped', 'admin', null],
      ['Team/First Admin', 'admin', users[0]?.id],
      ['later', 'admin', null],
      ['ci', 'user', null],
    ])
  })

  test('of many concurrent calls with one invitation exactly one sets the password', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { invitation } = await addUser(app, 'mira')
    const accept = (n: number): Promise<unknown> =>
      acceptInvitation(app, { code: invitation?.code ?? '', password: `${PASSWORD} ${n}` }, FROM)
    expect(succeeded(await Promise.allSettled([1, 2, 3, 4, 5].map(accept)))).toBe(1)
  })

  test('of many concurrent polls exactly one creates the key of a login, and all return it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { id } = await addUser(app, 'mira', { password: PASSWORD })
    const actor = await findUserActor(app.store.query, app.accountId, id)
    if (actor === undefined) throw new Error('no actor')
    const login = await startDeviceLogin(app, { client: 'test', address: '::1' })
    await decideDeviceLogin(app, actor, { code: login.userCode, isApproved: true })
    const answers = await Promise.all(Array.from({ length: 8 }, () => pollDeviceLogin(app, login.deviceCode)))
    expect(new Set(answers.map(({ key }) => key?.token)).size).toBe(1)
    expect(await app.store.query.selectFrom('api_key').select('id').execute()).toEqual([{ id: answers[0]?.key?.id }])
  })

  test('two admins who disable each other at the same time leave one', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (const name of ['one', 'two']) await addUser(app, name, { role: 'admin', password: PASSWORD })
    const results = await Promise.allSettled(['one', 'two'].map((name) => changeUser(app, name, { disabled: true })))
    expect(succeeded(results)).toBe(1)
    const left = await Promise.all(['one', 'two'].map((name) => requireUser(app, app.store.query, name)))
    expect(left.filter(({ disabled_at: at }) => at === null)).toHaveLength(1)
  })

  test('retention deletes old invitations, logins and expired keys', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await addUser(app, 'mira')
    await startDeviceLogin(app, { client: 'test', address: '::1' })
    await createKey(app, { name: 'short', role: 'viewer', expiresAt: clock.now() + 1000 })
    const count = async (): Promise<number[]> =>
      Promise.all(
        (['invitation', 'device_code', 'api_key'] as const).map(
          async (table) => (await app.store.query.selectFrom(table).select('id').execute()).length,
        ),
      )
    clock.advance(9 * 60_000)
    await retain(app)
    expect(await count()).toEqual([1, 1, 1])
    clock.advance(8 * 86_400_000)
    await retain(app)
    expect(await count()).toEqual([0, 0, 1])
    clock.advance(30 * 86_400_000)
    await retain(app)
    expect(await count()).toEqual([0, 0, 0])
  })

  test('a record is in the transaction of its effect: both are stored or neither', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const call = await writeInCall(app, 'first')
    expect(call.isRecorded).toBe(true)
    await expect(writeInCall(app, 'first')).rejects.toThrow()
    expect((await recordsOf(app)).map(({ seq, actor, result }) => [seq, actor, result])).toEqual([[1, 'first', 'done']])
    await inCall(call, () => app.store.write((tx) => tx.query.deleteFrom('meta').where('key', '=', 'first').execute()))
    expect(await recordsOf(app)).toHaveLength(1)
  })

  test('concurrent calls that share a commit keep their own details', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const names = Array.from({ length: 10 }, (_, n) => `call-${n}`)
    const write = (name: string): Promise<void> =>
      inCall(callOf(name), () =>
        app.store.write(async (tx) => {
          await tx.query.insertInto('meta').values({ key: name, value: 'x' }).execute()
          noteDetail(`detail of ${name}`)
        }),
      )
    await Promise.all(names.map(write))
    const details = (await recordsOf(app)).map(({ actor, detail }) => `${actor}: ${detail}`)
    expect(new Set(details)).toEqual(new Set(names.map((name) => `${name}: detail of ${name}`)))
  })

  test('concurrent calls, also of two servers, make one chain without gaps', async () => {
    const place = await database.fresh()
    await using held = await openTestApp({ ...database, fresh: async () => place })
    const apps = [held.app]
    await using second = held.app.store.isShared ? await openTestApp({ ...database, fresh: async () => place }) : undefined
    if (second !== undefined) apps.push(second.app)
    await Promise.all(apps.flatMap((app, server) => Array.from({ length: 25 }, (_, n) => writeInCall(app, `${server}-${n}`))))
    expect((await recordsOf(held.app)).map(({ seq }) => seq)).toEqual(Array.from({ length: 25 * apps.length }, (_, n) => n + 1))
    expect(await verify(held.app)).toBeUndefined()
  })

  test('finds a record that was changed, removed or reordered in the database', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { query } = app.store
    for (let n = 1; n <= 5; n += 1) await writeInCall(app, `call-${n}`)
    const rows = await query.selectFrom('audit').selectAll().orderBy('seq').execute()
    const restore = async (): Promise<void> => {
      await query.deleteFrom('audit').execute()
      await query.insertInto('audit').values(rows).execute()
    }
    const swap = async (one: number, other: number): Promise<void> => {
      await query.updateTable('audit').set({ seq: 99 }).where('seq', '=', one).execute()
      await query.updateTable('audit').set({ seq: one }).where('seq', '=', other).execute()
      await query.updateTable('audit').set({ seq: other }).where('seq', '=', 99).execute()
    }
    const changes: Record<string, () => Promise<unknown>> = {
      'record 3 was changed': () => query.updateTable('audit').set({ actor: 'other' }).where('seq', '=', 3).execute(),
      'record 1 was changed': () => query.updateTable('audit').set({ result: 'denied' }).where('seq', '=', 1).execute(),
      'record 2 is missing': () => query.deleteFrom('audit').where('seq', '=', 2).execute(),
      'record 1 is missing': () => query.deleteFrom('audit').where('seq', '=', 1).execute(),
      'the last records are missing': () => query.deleteFrom('audit').where('seq', '=', 5).execute(),
      'record 2 was changed': () => swap(2, 3),
    }
    for (const [problem, change] of Object.entries(changes)) {
      await change()
      expect(await verify(app)).toContain(problem)
      await restore()
      expect(await verify(app)).toBeUndefined()
    }
  })

  test('a page of a filter looks at a limited number of records, and the next one continues', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await writeInCall(app, 'rare')
    await app.store.write((tx) => addRecord(tx, app, { call: callOf('usual'), result: 'done' }))
    await repeatLast(app, 5_999)
    await writeInCall(app, 'rare', 'other')
    for (const order of ['newest', 'oldest'] as const) {
      const pages: (readonly number[])[] = []
      let after: number | undefined
      do {
        const filter = { order, after, user: 'rare', result: undefined, limit: 10 }
        const { records, next } = await listAuditRecords(app.store.query, app.accountId, filter)
        pages.push(records.map(({ seq }) => seq))
        after = next
      } while (after !== undefined)
      expect(pages).toEqual(order === 'newest' ? [[6002], [1]] : [[1], [6002]])
    }
  })

  test('records are deleted when their retention ends, and the rest is still a chain', async () => {
    await using held = await openTestApp(database, { retention: { auditDays: 10 } })
    const { app, clock } = held
    await writeInCall(app, 'old-1')
    await writeInCall(app, 'old-2')
    clock.advance(9 * 86_400_000)
    await writeInCall(app, 'new')
    clock.advance(2 * 86_400_000)
    await retain(app)
    expect((await recordsOf(app)).map(({ seq, actor }) => [seq, actor])).toEqual([[3, 'new']])
    expect(await findAuditChain(app.store.query, app.accountId)).toMatchObject({ last: { seq: 3 }, deleted: { seq: 2 } })
    expect(await verify(app)).toBeUndefined()
    clock.advance(100 * 86_400_000)
    await retain(app)
    expect(await verify(app)).toBeUndefined()
    await writeInCall(app, 'later')
    expect([(await recordsOf(app)).map(({ seq }) => seq), await verify(app)]).toEqual([[4], undefined])
  })
})

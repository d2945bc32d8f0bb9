import { silentLog, systemClock } from '@windlass/kit'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDialect } from '../../src/store/dialect.ts'
import { initial } from '../../src/store/migrations/001-initial.ts'
import { DATABASES, openTestApp, type Database } from '../support/stores.ts'

describe.each(DATABASES)('older data on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('what the first version wrote is read by this one', async () => {
    const place = await database.fresh()
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const migrator = new Migrator({ db: before.query, provider: { getMigrations: async () => ({ '001-initial': initial }) } })
    const { error } = await migrator.migrateToLatest()
    expect(error).toBeUndefined()
    const build = '6b00f3c9539541f0f3ffeac0'
    await sql`insert into build (id, account_id, status, initiator, trigger, priority, attempt, retries, losses, held, number, feed_position, created_at)
      values (${build}, ${'a'.repeat(24)}, 'running', 'me', 'manual', 0, 1, 0, 0, 0, 1, 1, 1700)`.execute(before.query)
    await sql`insert into command (build_id, type, reason, id, attempt, at) values (${build}, 'terminate', 'cancelled', 1, 1, 1700)`.execute(
      before.query,
    )
    await before.close()

    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    expect(await query.selectFrom('build').select(['queued_at', 'paused_ms', 'keeps_volume']).execute()).toEqual([
      { queued_at: 1700, paused_ms: 0, keeps_volume: 0 },
    ])
    expect(await query.selectFrom('command').select(['type', 'data']).execute()).toEqual([
      { type: 'terminate', data: '{"reason":"cancelled"}' },
    ])
  })
})

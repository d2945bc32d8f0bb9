import { silentLog, systemClock } from '@windlass/kit'
import { sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDialect } from '../../../src/store/database/dialect.ts'
import { isMigrated, migrate } from '../../../src/store/migrate.ts'
import { initial } from '../../../src/store/migrations/001-initial.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { claimTasks, findTask, insertTask, newTask } from '../../../src/store/runtimes/tasks.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

describe.each(DATABASES)('migrations on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('reads what the first version wrote', async () => {
    const place = await database.fresh({ isBare: true })
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
    // A build whose log was deleted because of its age has fewer events than positions.
    const old = '6b00f3c9539541f0f3ffeac1'
    await sql`insert into build (id, account_id, status, initiator, trigger, priority, attempt, retries, losses, held, number, feed_position, created_at, finished_at)
      values (${old}, ${'a'.repeat(24)}, 'success', 'me', 'manual', 0, 1, 0, 0, 0, 2, 3, 1700, 1800)`.execute(before.query)
    await sql`insert into event (build_id, position, account_id, attempt, source, seq, at, type, data)
      values (${old}, 3, ${'a'.repeat(24)}, 1, 'server', 3, 1800, 'build.finished', '{}')`.execute(before.query)
    await before.close()

    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    const shown = await query
      .selectFrom('build')
      .select(['queued_at', 'paused_ms', 'keeps_volume', 'logs_expired_at'])
      .orderBy('number')
      .execute()
    expect(shown).toEqual([
      { queued_at: 1700, paused_ms: 0, keeps_volume: 0, logs_expired_at: null },
      { queued_at: 1700, paused_ms: 0, keeps_volume: 0, logs_expired_at: 1800 },
    ])
    expect(await query.selectFrom('command').select(['type', 'data']).execute()).toEqual([
      { type: 'terminate', data: '{"reason":"cancelled"}' },
    ])
  })

  test('removes encrypted variables of triggers that an earlier version stored in plain text', async () => {
    const place = await database.fresh({ isBare: true })
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '017'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => older } }).migrateToLatest()
    expect(error).toBeUndefined()
    const account = 'a'.repeat(24)
    const variables = [{ key: 'B', value: 's3cret', encrypted: true }]
    const settings = JSON.stringify({ kept: { triggers: [{ name: 't', variables }] } })
    const document = (first: string): string =>
      `kind: pipeline\nmetadata: {name: p}\nspec:\n  variables: [{key: A, value: '*****', encrypted: true}]\n  description: ${first}\n  cronTriggers: [{variables: ${JSON.stringify(variables)}}]\n`
    for (let n = 100; n < 220; n += 1) {
      await sql`insert into pipeline (id, account_id, name, document, variables, contexts, settings, priority, revision, created_at, updated_at)
        values (${`p${n}`}, ${account}, ${`p${n}`}, ${document(`n${n}`)}, '[]', '[]', ${settings}, 0, 1, 1700, 1700)`.execute(
        before.query,
      )
      await sql`insert into build_plan (build_id, account_id, document, request, fetched)
        values (${`b${n}`}, ${account}, ${document('same')}, '{}', ${n === 100 ? null : document('far')})`.execute(before.query)
    }
    await before.close()

    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    const pipelines = await query.selectFrom('pipeline').select(['document', 'settings']).orderBy('id').execute()
    const plans = await query.selectFrom('build_plan').select(['document', 'fetched']).execute()
    expect([pipelines.length, plans.length]).toEqual([120, 120])
    expect(JSON.stringify([pipelines, plans])).not.toContain('s3cret')
    expect(pipelines[0]).toEqual({
      document: document('n100').replace('"s3cret"', "''"),
      settings: settings.replace('s3cret', ''),
    })
  })

  test('triggers of stored documents become rows, and their cron triggers start nothing until they are stored again', async () => {
    const place = await database.fresh({ isBare: true })
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '021'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => older } }).migrateToLatest()
    expect(error).toBeUndefined()
    const triggers = [
      { id: '5f', name: 'push', type: 'git', repo: 'Acme/App', events: ['push'], status: 'verified', branchRegex: '' },
      { name: 'unknown', type: 'git', repo: 'acme/app', events: ['no such event'] },
      'text',
    ]
    const cronTriggers = [{ name: 'nightly', message: 'night', expression: '0 3 * * *', gitTriggerId: '5f', branch: 'main' }]
    const account = 'a'.repeat(24)
    const insert = async (id: string, settings: string): Promise<unknown> =>
      sql`insert into pipeline (id, account_id, name, document, variables, contexts, settings, priority, revision, created_at, updated_at)
        values (${id}, ${account}, ${id}, '', '[]', '[]', ${settings}, 0, 1, 1700, 1700)`.execute(before.query)
    await insert('p1', JSON.stringify({ kept: { triggers, cronTriggers } }))
    await insert('p2', '{}')
    await before.close()
    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    expect(await query.selectFrom('pipeline_trigger').selectAll().execute()).toMatchObject([
      { pipeline_id: 'p1', name: 'push', repo: 'acme/app', origin: 'document', account_id: account },
    ])
    const [cron, ...more] = await query.selectFrom('cron_trigger').selectAll().execute()
    expect(more).toEqual([])
    expect(cron).toMatchObject({ pipeline_id: 'p1', name: 'nightly', next_at: null })
    expect(JSON.parse(cron?.spec ?? '')).toMatchObject({ gitTrigger: 'push', branch: 'main' })
  })

  test('removes encrypted variables whose key is spelled with escapes, also if 017 has not found them', async () => {
    const place = await database.fresh({ isBare: true })
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '019'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => older } }).migrateToLatest()
    expect(error).toBeUndefined()
    const account = 'a'.repeat(24)
    const document = (key: string, value = '"s3cret"'): string =>
      `kind: pipeline\nspec:\n  steps: {a: {commands: ["echo \\\\x"]}}\n  triggers: [{variables: [{key: B, value: ${value}, ${key}: true}]}]\n`
    const keys = ['"encrypt\\x65d"', '"\\u0065ncrypted"', '"\\U00000065ncrypted"', '"encryp\\\n      ted"']
    for (const [n, key] of keys.entries()) {
      await sql`insert into pipeline (id, account_id, name, document, variables, contexts, settings, priority, revision, created_at, updated_at)
        values (${`p${n}`}, ${account}, ${`p${n}`}, ${document(key)}, '[]', '[]', '{}', 0, 1, 1700, 1700)`.execute(before.query)
      await sql`insert into build_plan (build_id, account_id, document, request, fetched)
        values (${`b${n}`}, ${account}, ${document(key)}, '{}', ${document(key)})`.execute(before.query)
    }
    const shell = document('shown', '"open"').replace('echo', 'printf \\\\u0041')
    await sql`insert into build_plan (build_id, account_id, document, request) values ('shell', ${account}, ${shell}, '{}')`.execute(
      before.query,
    )
    await before.close()

    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    const pipelines = await query.selectFrom('pipeline').select('document').orderBy('id').execute()
    const plans = await query.selectFrom('build_plan').select(['build_id', 'document', 'fetched']).orderBy('build_id').execute()
    const masked = keys.map((key) => document(key, "''"))
    expect(pipelines).toEqual(masked.map((text) => ({ document: text })))
    expect(plans.slice(0, 4)).toEqual(masked.map((text, n) => ({ build_id: `b${n}`, document: text, fetched: text })))
    expect(plans.at(-1)).toEqual({ build_id: 'shell', document: shell, fetched: null })
  })

  test('removes encrypted variables of documents whose kind an earlier version did not find', async () => {
    const place = await database.fresh({ isBare: true })
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '041'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => older } }).migrateToLatest()
    expect(error).toBeUndefined()
    const document = (kind: string, value: string): string =>
      `${kind} pipeline\nspec:\n  variables: [{key: A, value: ${value}, encrypted: true}]\n  triggers: [{variables: [{key: B, value: ${value === 's3cret' ? value : "''"}, encrypted: true}]}]\n`
    const kinds = ['\uFEFFkind:', '&a kind:', '!!str kind:', '? kind\n:', '"\\x6bind":']
    for (const [n, kind] of kinds.entries()) {
      const text = document(kind, 's3cret')
      await sql`insert into pipeline (id, account_id, name, document, variables, contexts, settings, priority, revision, created_at, updated_at)
        values (${`p${n}`}, ${'a'.repeat(24)}, ${`p${n}`}, ${text}, '[]', '[]', '{}', 0, 1, 1700, 1700)`.execute(before.query)
      await sql`insert into build_plan (build_id, account_id, document, request, fetched)
        values (${`b${n}`}, ${'a'.repeat(24)}, ${text}, '{}', ${text})`.execute(before.query)
    }
    const inline = 'steps: {kind: {image: alpine, commands: ["encrypted: true, value: open"]}}\n'
    await sql`insert into build_plan (build_id, account_id, document, request) values ('inline', ${'a'.repeat(24)}, ${inline}, '{}')`.execute(
      before.query,
    )
    await before.close()

    await using held = await openTestApp({ ...database, fresh: async () => place })
    const { query } = held.app.store
    const pipelines = await query.selectFrom('pipeline').select('document').orderBy('id').execute()
    const plans = await query.selectFrom('build_plan').select(['document', 'fetched']).orderBy('build_id').execute()
    const masked = kinds.map((kind) => document(kind, "'*****'"))
    expect(pipelines).toEqual(masked.map((text) => ({ document: text })))
    expect(plans.slice(0, 5)).toEqual(masked.map((text) => ({ document: text, fetched: text })))
    expect(plans.at(-1)).toEqual({ document: inline, fetched: null })
  })

  test('a server of the version before triggers opens a database that this version has migrated', async () => {
    const place = await database.fresh({ isBare: true })
    await (await openTestApp({ ...database, fresh: async () => place }))[Symbol.asyncDispose]()
    const before = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const known = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < '021'))
    const { error } = await new Migrator({ db: before.query, provider: { getMigrations: async () => known } }).migrateToLatest()
    await before.close()
    expect(error).toBeUndefined()
  })

  test('opens a database that a newer server has migrated, and one whose migrations are recorded in one table', async () => {
    const place = await database.fresh({ isBare: true })
    const dialect = await openDialect({ ...place, clock: systemClock, log: silentLog })
    const { error } = await new Migrator({
      db: dialect.query,
      provider: { getMigrations: async () => migrations },
    }).migrateToLatest()
    expect(error).toBeUndefined()
    expect(await isMigrated(dialect.query)).toBe(false)
    await migrate(dialect.query)
    expect(await isMigrated(dialect.query)).toBe(true)
    const recorded = async (table: string): Promise<string[]> => {
      const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)} order by name`.execute(dialect.query)
      return rows.map(({ name }) => name)
    }
    const names = Object.keys(migrations).toSorted()
    expect(await recorded('kysely_migration')).toEqual(names.filter((name) => name < '021'))
    expect(await recorded('later_migration')).toEqual(names.filter((name) => name >= '021'))
    await sql`insert into later_migration (name, timestamp) values ('030-of-a-newer-server', ${new Date().toISOString()})`.execute(
      dialect.query,
    )
    expect(await isMigrated(dialect.query)).toBe(true)
    await migrate(dialect.query)
    expect(await recorded('later_migration')).toContain('030-of-a-newer-server')
    await dialect.close()
  })

  test('finds the subject of tasks that an older server writes beside a newer one', async () => {
    await using held = await openTestApp(database)
    const { query } = held.app.store
    const [pair, build] = ['6b00f3c9539541f0f3ffeaa0', '6b00f3c9539541f0f3ffeaa1']
    await sql`insert into warm_pair (id, account_id, runtime, agent_id, status, bootstrap_id, bootstrap_hash, spec_hash, fit_key, spec, created_at)
      values (${pair}, ${held.app.accountId}, 'prod', 'agent', 'starting', 'b', 'h', 's', 'f', '{}', 1700)`.execute(query)
    for (const [id, of] of [
      ['of-pair', pair],
      ['of-attempt', build],
    ])
      await sql`insert into task (id, account_id, agent_id, build_id, kind, status, runtime, payload, attempt, revision, failures, available_at, created_at)
        values (${id}, ${held.app.accountId}, 'agent', ${of}, 'start-attempt', 'queued', 'prod', '{}', 1, 0, 0, 1700, 1700)`.execute(
        query,
      )
    expect((await findTask(query, 'of-pair'))?.subject).toEqual({ kind: 'warm-pair', id: pair, attempt: 1 })
    expect((await findTask(query, 'of-attempt'))?.subject).toEqual({ kind: 'attempt', id: build, attempt: 1 })
    const claim = { agentId: 'agent', room: 10, now: 1800, leaseMs: 1000 }
    const claimed = await held.app.store.write((tx) => claimTasks(tx, claim))
    expect(claimed.map(({ id, subject: { kind } }) => [id, kind])).toEqual([
      ['of-attempt', 'attempt'],
      ['of-pair', 'warm-pair'],
    ])
  })

  test('the columns that an older server reads hold the subject of a new task', async () => {
    await using held = await openTestApp(database)
    const { store, accountId } = held.app
    const subject = { kind: 'warm-pair', id: '6b00f3c9539541f0f3ffeaa2', attempt: 1 } as const
    const task = newTask({
      subject,
      account_id: accountId,
      agent_id: 'agent',
      kind: 'stop-attempt',
      runtime: 'prod',
      payload: { graceMs: 0 },
      now: 1700,
    })
    await store.write((tx) => insertTask(tx, task))
    const row = await store.query
      .selectFrom('task')
      .select(['build_id', 'attempt', 'subject_kind', 'payload'])
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ build_id: subject.id, attempt: 1, subject_kind: 'warm-pair', payload: '{"graceMs":0}' })
    expect(await findTask(store.query, task.id)).toEqual(task)
  })
})

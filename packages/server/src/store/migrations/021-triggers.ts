import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { newId } from '@windlass/kit'
import { notNull, primaryKey, withDefault } from './columns.ts'
import { forEachRow, PAGE } from './documents.ts'
import { readTriggers } from '../../triggers/read-triggers.ts'

/**
 * Adds webhooks, their deliveries, triggers of pipelines, and what they started. Triggers that stored documents already contain become rows. Like 017 it
 * calls the code of the server, because what an earlier server stored is what its user wrote, of any shape.
 */
export const triggers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createTables(db)
    await db.schema.alterTable('build_plan').addColumn('delivery_id', 'text').execute()
    await forEachRow(async (after) => {
      const { rows } = await sql<{ id: string; account_id: string; settings: string; updated_at: number }>`
        select id, account_id, settings, updated_at from pipeline
        where id > ${after} and settings like '%"triggers"%' order by id limit ${PAGE}`.execute(db)
      for (const row of rows) await insertTriggers(db, row)
      return rows.map(({ id }) => id)
    })
  },
}

async function createTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('webhook')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('forge', 'text', notNull)
    .addColumn('context', 'text')
    .addColumn('repo', 'text')
    .addColumn('secret', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .execute()
  await db.schema.createIndex('webhook_name').on('webhook').columns(['account_id', 'name']).unique().execute()
  await db.schema
    .createTable('pipeline_trigger')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('pipeline_id', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('origin', 'text', notNull)
    .addColumn('repo', 'text', notNull)
    .addColumn('concurrency', 'integer')
    .addColumn('spec', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('updated_at', 'bigint', notNull)
    .execute()
  await db.schema.createIndex('pipeline_trigger_name').on('pipeline_trigger').columns(['pipeline_id', 'name']).unique().execute()
  await db.schema.createIndex('pipeline_trigger_repo').on('pipeline_trigger').columns(['account_id', 'repo']).execute()
  await db.schema
    .createTable('delivery')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('webhook_id', 'text', notNull)
    .addColumn('forge', 'text', notNull)
    .addColumn('key', 'text', notNull)
    .addColumn('event', 'text')
    .addColumn('repo', 'text')
    .addColumn('branch', 'text')
    .addColumn('revision', 'text')
    .addColumn('status', 'text', notNull)
    .addColumn('reason', 'text')
    .addColumn('message', 'text')
    .addColumn('verdicts', 'text')
    .addColumn('headers', 'text', notNull)
    .addColumn('body', 'text')
    .addColumn('replay_of', 'text')
    .addColumn('repeats', 'integer', withDefault(0))
    .addColumn('tries', 'integer', withDefault(0))
    .addColumn('next_at', 'bigint')
    .addColumn('received_at', 'bigint', notNull)
    .addColumn('processed_at', 'bigint')
    .execute()
  await db.schema.createIndex('delivery_key').on('delivery').columns(['webhook_id', 'key']).unique().execute()
  await db.schema.createIndex('delivery_account').on('delivery').columns(['account_id', 'received_at', 'id']).execute()
  await db.schema.createIndex('delivery_received_at').on('delivery').column('received_at').execute()
  await sql`create index delivery_due on delivery (received_at, id) where next_at is not null`.execute(db)
  await sql`create index delivery_open on delivery (account_id, repo, received_at) where next_at is not null`.execute(db)
  await db.schema
    .createTable('firing')
    .addColumn('account_id', 'text', notNull)
    .addColumn('key', 'text', notNull)
    .addColumn('delivery_id', 'text', notNull)
    .addColumn('trigger_id', 'text', notNull)
    .addColumn('build_id', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addPrimaryKeyConstraint('firing_key', ['account_id', 'key'])
    .execute()
  await db.schema.createIndex('firing_created_at').on('firing').column('created_at').execute()
}

interface Stored {
  readonly id: string
  readonly account_id: string
  readonly settings: string
  readonly updated_at: number
}

async function insertTriggers(db: Kysely<unknown>, pipeline: Stored): Promise<void> {
  const settings = JSON.parse(pipeline.settings) as { readonly kept?: { readonly triggers?: unknown } }
  const at = Number(pipeline.updated_at)
  for (const trigger of readTriggers(settings.kept?.triggers).triggers) {
    await sql`insert into pipeline_trigger
      (id, account_id, pipeline_id, name, origin, repo, concurrency, spec, created_at, updated_at)
      values (${newId(at)}, ${pipeline.account_id}, ${pipeline.id}, ${trigger.name}, 'document', ${trigger.repo.toLowerCase()},
        ${trigger.concurrency ?? null}, ${JSON.stringify(trigger)}, ${at}, ${at})`.execute(db)
  }
}

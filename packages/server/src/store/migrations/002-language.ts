import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Tables and columns for the complete pipeline language: step types, approvals, annotations, images, terminals, and settings of accounts and pipelines. */
export const language: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await settings(db)
    await builds(db)
    await records(db)
    await commands(db)
    await debugging(db)
  },
}

async function settings(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('account').addColumn('settings', 'text', withDefault('{}')).execute()
  await db.schema.alterTable('pipeline').addColumn('settings', 'text', withDefault('{}')).execute()
  await db.schema.alterTable('pipeline').addColumn('trigger_concurrency', 'integer').execute()
  await db.schema
    .createTable('step_type')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('version', 'text', notNull)
    .addColumn('description', 'text', notNull)
    .addColumn('manifest', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('updated_at', 'bigint', notNull)
    .execute()
  await db.schema
    .createIndex('step_type_account_id_name_version')
    .unique()
    .on('step_type')
    .columns(['account_id', 'name', 'version'])
    .execute()
}

async function builds(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('build').addColumn('trigger_name', 'text').execute()
  await db.schema.alterTable('build').addColumn('approval_counts', 'integer', withDefault(0)).execute()
  await db.schema.alterTable('build').addColumn('keeps_volume', 'integer', withDefault(0)).execute()
  await db.schema.alterTable('build').addColumn('paused_ms', 'bigint', withDefault(0)).execute()
  await db.schema.alterTable('build').addColumn('queued_at', 'bigint', withDefault(0)).execute()
  await db.schema.alterTable('build').addColumn('paused_at', 'bigint').execute()
  await sql`update build set queued_at = created_at`.execute(db)
  await db.schema.alterTable('build_plan').addColumn('step_types', 'text').execute()
  await db.schema.alterTable('build_plan').addColumn('fetched', 'text').execute()
  await db.schema.alterTable('attempt').addColumn('cause', 'text').execute()
  await db.schema.alterTable('attempt').addColumn('use', 'text').execute()
  await db.schema.alterTable('attempt').addColumn('active_at', 'bigint').execute()
}

/** What users and steps record about a build: approvals, annotations and images. */
async function records(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('approval')
    .addColumn('build_id', 'text', notNull)
    .addColumn('account_id', 'text', notNull)
    .addColumn('step', 'text', notNull)
    .addColumn('final_state', 'text', notNull)
    .addColumn('decision', 'text')
    .addColumn('comment', 'text')
    .addColumn('decided_by', 'text')
    .addColumn('decider_type', 'text')
    .addColumn('attempt', 'integer', notNull)
    .addColumn('seen', 'integer', notNull)
    .addColumn('waiting_since', 'bigint', notNull)
    .addColumn('expires_at', 'bigint', notNull)
    .addColumn('decided_at', 'bigint')
    .addPrimaryKeyConstraint('approval_pk', ['build_id', 'step'])
    .execute()
  await db.schema.createIndex('approval_expires_at').on('approval').column('expires_at').execute()
  await db.schema
    .createTable('annotation')
    .addColumn('account_id', 'text', notNull)
    .addColumn('entity', 'text', notNull)
    .addColumn('entity_id', 'text', notNull)
    .addColumn('kind', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('value', 'text', notNull)
    .addColumn('display', 'integer', notNull)
    .addColumn('updated_at', 'bigint', notNull)
    .addPrimaryKeyConstraint('annotation_pk', ['account_id', 'entity', 'entity_id', 'kind', 'name'])
    .execute()
  await db.schema.createIndex('annotation_entity_name').on('annotation').columns(['entity', 'name']).execute()
  await db.schema
    .createTable('image')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('build_id', 'text', notNull)
    .addColumn('pipeline_id', 'text')
    .addColumn('step', 'text', notNull)
    .addColumn('image_id', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('tags', 'text', notNull)
    .addColumn('digest', 'text')
    .addColumn('content_hash', 'text')
    .addColumn('pushed', 'integer', notNull)
    .addColumn('cache_hits', 'integer')
    .addColumn('cache_misses', 'integer')
    .addColumn('size_bytes', 'bigint')
    .addColumn('created_at', 'bigint', notNull)
    .execute()
  await db.schema.createIndex('image_build_id_step_name').unique().on('image').columns(['build_id', 'step', 'name']).execute()
  await db.schema.createIndex('image_account_id_image_id').on('image').columns(['account_id', 'image_id']).execute()
  await db.schema.createIndex('image_pipeline_id_created_at').on('image').columns(['pipeline_id', 'created_at']).execute()
}

/** Turns the reason of a command, which was its only field, into JSON data. Reasons need no escaping. */
async function commands(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('command').renameColumn('reason', 'data').execute()
  await sql`update command set data = '{"reason":"' || data || '"}'`.execute(db)
}

async function debugging(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('terminal')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('build_id', 'text', notNull)
    .addColumn('step', 'text', notNull)
    .addColumn('phase', 'text', notNull)
    .addColumn('opened_by', 'text', notNull)
    .addColumn('message', 'text')
    .addColumn('attempt', 'integer', notNull)
    .addColumn('exit_code', 'integer')
    .addColumn('in_seq', 'bigint', notNull)
    .addColumn('out_seq', 'bigint', notNull)
    .addColumn('seen_at', 'bigint', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('ended_at', 'bigint')
    .execute()
  await db.schema.createIndex('terminal_build_id').on('terminal').column('build_id').execute()
  await db.schema
    .createTable('terminal_part')
    .addColumn('terminal_id', 'text', notNull)
    .addColumn('build_id', 'text', notNull)
    .addColumn('direction', 'text', notNull)
    .addColumn('data', 'text', notNull)
    .addColumn('bytes', 'integer', notNull)
    .addColumn('seq', 'bigint', notNull)
    .addPrimaryKeyConstraint('terminal_part_pk', ['terminal_id', 'direction', 'seq'])
    .execute()
  await db.schema.createIndex('terminal_part_build_id').on('terminal_part').column('build_id').execute()
}

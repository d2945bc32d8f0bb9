import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Tables and columns for installers and public agents: agents that poll for single objects, scopes of keys, progress of installations. */
export const edge: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await agentColumns(db)
    await objectTasks(db)
    await installations(db)
  },
}

async function agentColumns(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('agent').addColumn('protocol', 'integer').execute()
  await db.schema.alterTable('agent').addColumn('message', 'text').execute()
  await db.schema.alterTable('attempt').addColumn('protocol', 'integer', withDefault(2)).execute()
  await db.schema.alterTable('attempt').addColumn('steps_began_at', 'bigint').execute()
  await db.schema.alterTable('attempt').addColumn('steps_ended_at', 'bigint').execute()
  await db.schema.alterTable('api_key').addColumn('scopes', 'text').execute()
}

async function objectTasks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('object_task')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('task_id', 'text', notNull)
    .addColumn('agent_id', 'text', notNull)
    .addColumn('build_id', 'text', notNull)
    .addColumn('runtime', 'text', notNull)
    .addColumn('kind', 'text', notNull)
    .addColumn('namespace', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('status', 'text', notNull)
    .addColumn('attempt', 'integer', notNull)
    .addColumn('position', 'integer', notNull)
    .addColumn('revision', 'integer', notNull)
    .addColumn('failures', 'integer', notNull)
    .addColumn('handed', 'integer', notNull)
    .addColumn('available_at', 'bigint', notNull)
    .addColumn('leased_until', 'bigint')
    .addColumn('settles_at', 'bigint')
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('done_at', 'bigint')
    .execute()
  await db.schema
    .createIndex('object_task_task_id_position')
    .unique()
    .on('object_task')
    .columns(['task_id', 'position'])
    .execute()
  await db.schema.createIndex('object_task_agent_id_status').on('object_task').columns(['agent_id', 'status']).execute()
  await db.schema.createIndex('object_task_build_id').on('object_task').column('build_id').execute()
}

async function installations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('installation')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('name', 'text')
    .addColumn('options', 'text', notNull)
    .addColumn('status', 'text', notNull)
    .addColumn('events', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('updated_at', 'bigint', notNull)
    .execute()
  await db.schema
    .createIndex('installation_account_id_created_at')
    .on('installation')
    .columns(['account_id', 'created_at'])
    .execute()
}

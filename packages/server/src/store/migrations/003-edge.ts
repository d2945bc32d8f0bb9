import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, owned } from './tables.ts'

/** What installers and public agents need: agents that poll for single objects, scopes of keys, progress of installations, clusters. */
export const edge: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent').addColumn('protocol', 'integer').execute()
    await db.schema.alterTable('agent').addColumn('message', 'text').execute()
    await db.schema
      .alterTable('attempt')
      .addColumn('protocol', 'integer', (column) => column.notNull().defaultTo(2))
      .execute()
    await db.schema.alterTable('attempt').addColumn('steps_began_at', 'bigint').execute()
    await db.schema.alterTable('attempt').addColumn('steps_ended_at', 'bigint').execute()
    await db.schema.alterTable('api_key').addColumn('scopes', 'text').execute()
    await objectTasks(db)
    await installations(db)
  },
}

async function objectTasks(db: Kysely<unknown>): Promise<void> {
  const table = columns(owned(db, 'object_task'), 'text', 'task_id agent_id build_id runtime kind namespace name status')
  await columns(
    columns(table, 'integer', 'attempt position revision failures handed'),
    'bigint',
    'available_at leased_until? settles_at? created_at done_at?',
  ).execute()
  await index(db, 'object_task', 'task_id position', true)
  await index(db, 'object_task', 'agent_id status')
  await index(db, 'object_task', 'build_id')
}

async function installations(db: Kysely<unknown>): Promise<void> {
  const table = columns(owned(db, 'installation'), 'text', 'name? options status events')
  await columns(table, 'bigint', 'created_at updated_at').execute()
  await index(db, 'installation', 'account_id created_at')
}

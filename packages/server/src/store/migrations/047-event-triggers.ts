import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds triggers for images, charts and ended builds, and how many builds have started one another. */
export const eventTriggers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('event_trigger')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('origin', 'text', notNull)
      .addColumn('type', 'text', notNull)
      .addColumn('subject', 'text', notNull)
      .addColumn('spec', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('event_trigger_name').on('event_trigger').columns(['pipeline_id', 'name']).unique().execute()
    await db.schema.createIndex('event_trigger_subject').on('event_trigger').columns(['account_id', 'type', 'subject']).execute()
    await db.schema.alterTable('build').addColumn('depth', 'integer', withDefault(0)).execute()
  },
}

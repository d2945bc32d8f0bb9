import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds the messages that are to be sent to other services. */
export const messages: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('message')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('key', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('build_id', 'text')
      .addColumn('subject', 'text', notNull)
      .addColumn('body', 'text', notNull)
      .addColumn('version', 'integer', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('problem', 'text')
      .addColumn('tries', 'integer', withDefault(0))
      .addColumn('next_at', 'bigint')
      .addColumn('sent_at', 'bigint')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('message_key').on('message').columns(['account_id', 'key']).unique().execute()
    await db.schema.createIndex('message_newest').on('message').columns(['account_id', 'id']).execute()
    await db.schema.createIndex('message_of_build').on('message').column('build_id').execute()
    await sql`create index message_done on message (updated_at) where next_at is null`.execute(db)
    await sql`create index message_due on message (next_at) where next_at is not null`.execute(db)
  },
}

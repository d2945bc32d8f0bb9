import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds notifications about builds, and the mail server. */
export const notifications: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('notification')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('owner_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('channel', 'text', notNull)
      .addColumn('receiver', 'text', notNull)
      .addColumn('rule', 'text', notNull)
      .addColumn('secret', 'text')
      .addColumn('disabled', 'integer', withDefault(0))
      .addColumn('sent_at', 'bigint')
      .addColumn('problem', 'text')
      .addColumn('tested_at', 'bigint')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema
      .createIndex('notification_name')
      .unique()
      .on('notification')
      .columns(['account_id', 'owner_id', 'name'])
      .execute()
    await db.schema.createIndex('notification_account').on('notification').columns(['account_id', 'id']).execute()
    await db.schema
      .createTable('mail_server')
      .addColumn('account_id', 'text', primaryKey)
      .addColumn('host', 'text', notNull)
      .addColumn('port', 'integer', notNull)
      .addColumn('security', 'text', notNull)
      .addColumn('username', 'text')
      .addColumn('password', 'text')
      .addColumn('sender', 'text', notNull)
      .addColumn('domains', 'text', notNull)
      .addColumn('ca', 'text')
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
  },
}

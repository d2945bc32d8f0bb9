import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds sessions of browsers, and the one-time codes that start them (docs/development/adr/0071). */
export const sessions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('session')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('key_id', 'text', notNull)
      .addColumn('hash', 'text', notNull)
      .addColumn('previous_hash', 'text')
      .addColumn('client', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('rotated_at', 'bigint', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .addColumn('expires_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('session_key_id').on('session').column('key_id').execute()
    await db.schema
      .createTable('session_code')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('key_id', 'text', notNull)
      .addColumn('hash', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('expires_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('session_code_key_id').on('session_code').column('key_id').execute()
  },
}

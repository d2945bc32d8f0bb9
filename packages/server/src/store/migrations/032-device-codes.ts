import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the codes with which a command line logs in through a browser. */
export const deviceCodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('device_code')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('hash', 'text', notNull)
      .addColumn('user_code', 'text', notNull)
      .addColumn('client', 'text', notNull)
      .addColumn('address', 'text', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('user_id', 'text')
      .addColumn('key_id', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('expires_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('device_code_user_code').unique().on('device_code').column('user_code').execute()
  },
}

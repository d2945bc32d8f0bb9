import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the keys that sign the ID tokens of steps. */
export const signingKeys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('signing_key')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('public_key', 'text', notNull)
      .addColumn('private_key', 'text', notNull)
      .addColumn('signs_from', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('signing_key_account_id').on('signing_key').columns(['account_id', 'signs_from']).execute()
  },
}

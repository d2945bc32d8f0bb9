import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds data that clients store with a build, sealed. */
export const buildData: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('build_data')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('build_id', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('data', 'text', notNull)
      .execute()
    await db.schema.createIndex('build_data_build').on('build_data').columns(['build_id', 'id']).execute()
  },
}

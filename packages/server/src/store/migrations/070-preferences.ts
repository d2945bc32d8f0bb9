import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the preferences of users and the views that all users share. */
export const preferences: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('preference')
      .addColumn('owner_id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('data', 'text', notNull)
      .addColumn('revision', 'integer', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema
      .createTable('shared_view')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('filter', 'text', notNull)
      .addColumn('created_by', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .addUniqueConstraint('shared_view_name', ['account_id', 'name'])
      .execute()
  },
}

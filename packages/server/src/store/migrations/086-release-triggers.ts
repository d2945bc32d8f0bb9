import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the commits that products have seen, so that a new one can start a release. */
export const releaseTriggers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitops_release_trigger')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('product', 'text', notNull)
      .addColumn('application_id', 'text', notNull)
      .addColumn('state', 'text', notNull)
      .execute()
    await db.schema
      .createIndex('gitops_release_trigger_application')
      .on('gitops_release_trigger')
      .columns(['account_id', 'product', 'application_id'])
      .unique()
      .execute()
  },
}

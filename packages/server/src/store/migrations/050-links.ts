import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds links to the log of a build and to the badge of a pipeline. */
export const links: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('shared_link')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('build_id', 'text')
      .addColumn('pipeline_id', 'text')
      .addColumn('project_id', 'text')
      .addColumn('hash', 'text', notNull)
      .addColumn('created_by', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('expires_at', 'bigint')
      .execute()
    await db.schema.createIndex('shared_link_build_id').on('shared_link').column('build_id').execute()
    await db.schema.createIndex('shared_link_pipeline_id').on('shared_link').column('pipeline_id').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the versions of pipelines, and which one a build used. Servers before this migration change pipelines without adding a version. */
export const pipelineVersions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('pipeline_version')
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('version', 'integer', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('content', 'text', notNull)
      .addColumn('bytes', 'integer', notNull)
      .addColumn('changed_by', 'text')
      .addColumn('message', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('pipeline_version_key', ['pipeline_id', 'version'])
      .execute()
    await db.schema.alterTable('build').addColumn('pipeline_version', 'integer').execute()
  },
}

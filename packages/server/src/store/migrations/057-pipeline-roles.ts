import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds roles for pipelines. */
export const pipelineRoles: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('pipeline_role')
      .addColumn('subject_id', 'text', notNull)
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('role', 'text', notNull)
      .addPrimaryKeyConstraint('pipeline_role_key', ['subject_id', 'pipeline_id'])
      .execute()
    await db.schema.createIndex('pipeline_role_pipeline_id').on('pipeline_role').column('pipeline_id').execute()
  },
}

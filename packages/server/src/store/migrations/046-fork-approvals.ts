import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds approvals of whole builds, the commits of pull requests, which pipelines a delivery was judged for, and replays for some projects only. */
export const forkApprovals: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('pull_request')
      .addColumn('webhook_id', 'text', notNull)
      .addColumn('repo', 'text', notNull)
      .addColumn('number', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('branch', 'text')
      .addColumn('target', 'text')
      .addColumn('revision', 'text', notNull)
      .addColumn('is_fork', 'integer', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('pull_request_pk', ['webhook_id', 'repo', 'number'])
      .execute()
    await db.schema.createIndex('pull_request_updated_at').on('pull_request').column('updated_at').execute()
    await db.schema
      .createTable('delivery_pipeline')
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('delivery_id', 'text', notNull)
      .addPrimaryKeyConstraint('delivery_pipeline_pk', ['pipeline_id', 'delivery_id'])
      .execute()
    await db.schema.createIndex('delivery_pipeline_delivery').on('delivery_pipeline').column('delivery_id').execute()
    await sql`create index approval_start on approval (build_id) where step = '' and decision is null`.execute(db)
    await db.schema.alterTable('delivery').addColumn('projects', 'text').execute()
  },
}

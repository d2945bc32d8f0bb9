import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds what GitOps runtimes say about themselves and their clusters, and whether their reporters see everything. */
export const runtimeStatus: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('gitops_reporter').addColumn('heard_at', 'bigint').execute()
    await db.schema.alterTable('gitops_reporter').addColumn('is_blind', 'integer', withDefault(0)).execute()
    await db.schema
      .createTable('gitops_runtime_status')
      .addColumn('runtime_id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('version', 'text', notNull)
      .addColumn('report', 'text', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .execute()
    await db.schema
      .createTable('gitops_cluster')
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('server', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('connection', 'text', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('report', 'text', notNull)
      .addColumn('reported_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('gitops_cluster_pk', ['runtime_id', 'server'])
      .execute()
  },
}

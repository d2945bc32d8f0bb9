import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Tables for what monitors report about clusters. */
export const monitor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('monitor')
      .addColumn('account_id', 'text', notNull)
      .addColumn('cluster', 'text', notNull)
      .addColumn('agent_id', 'text', notNull)
      .addColumn('generation', 'text', notNull)
      .addColumn('version', 'text', notNull)
      .addColumn('cluster_version', 'text')
      .addColumn('namespaces', 'text')
      .addColumn('seq', 'integer', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('monitor_pk', ['account_id', 'cluster'])
      .execute()
    await db.schema
      .createTable('cluster_object')
      .addColumn('account_id', 'text', notNull)
      .addColumn('cluster', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('namespace', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('uid', 'text', notNull)
      .addColumn('generation', 'text', notNull)
      .addColumn('labels', 'text', notNull)
      .addColumn('summary', 'text', notNull)
      .addColumn('created_at', 'bigint')
      .addColumn('seen_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('cluster_object_pk', ['account_id', 'cluster', 'kind', 'namespace', 'name'])
      .execute()
    await db.schema
      .createIndex('cluster_object_account_id_cluster_generation')
      .on('cluster_object')
      .columns(['account_id', 'cluster', 'generation'])
      .execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, type Table } from './tables.ts'

/** What monitors report of clusters. */
export const monitor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const monitors = columns(
      db.schema.createTable('monitor') as Table,
      'text',
      'account_id cluster agent_id generation version cluster_version? namespaces?',
    )
    await columns(columns(monitors, 'integer', 'seq'), 'bigint', 'seen_at created_at')
      .addPrimaryKeyConstraint('monitor_pk', ['account_id', 'cluster'])
      .execute()
    const objects = columns(
      db.schema.createTable('cluster_object') as Table,
      'text',
      'account_id cluster kind namespace name uid generation labels summary',
    )
    await columns(objects, 'bigint', 'created_at? seen_at')
      .addPrimaryKeyConstraint('cluster_object_pk', ['account_id', 'cluster', 'kind', 'namespace', 'name'])
      .execute()
    await index(db, 'cluster_object', 'account_id cluster generation')
  },
}

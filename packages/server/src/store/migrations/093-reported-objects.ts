import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the rollouts, their ReplicaSets and the workflows that reporters of GitOps runtimes report. */
export const reportedObjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitops_object')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('namespace', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('uid', 'text', notNull)
      .addColumn('version', 'text', notNull)
      .addColumn('part_of', 'text', notNull)
      .addColumn('phase', 'text', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('history', 'text', notNull)
      .addColumn('full_state', 'text', notNull)
      .addColumn('state_since', 'bigint', notNull)
      .addColumn('reported_at', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('ended_at', 'bigint')
      .addColumn('end_cause', 'text')
      .execute()
    const index = (name: string, columns: string[]) => db.schema.createIndex(name).on('gitops_object').columns(columns)
    await index('gitops_object_place', ['runtime_id', 'name', 'kind', 'namespace']).unique().execute()
    await index('gitops_object_name', ['account_id', 'kind', 'name', 'id']).execute()
    await index('gitops_object_created_at', ['account_id', 'kind', 'created_at', 'id']).execute()
    await index('gitops_object_part_of', ['runtime_id', 'kind', 'part_of']).execute()
    await index('gitops_object_ended_at', ['ended_at']).execute()
  },
}

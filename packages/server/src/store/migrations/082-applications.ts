import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds what reporters of GitOps runtimes report about applications, and the reporters. */
export const applications: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitops_application')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('namespace', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('uid', 'text', notNull)
      .addColumn('version', 'text', notNull)
      .addColumn('project', 'text', notNull)
      .addColumn('health', 'text', notNull)
      .addColumn('health_rank', 'integer', notNull)
      .addColumn('sync', 'text', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('resources', 'text', notNull)
      .addColumn('digest', 'text', notNull)
      .addColumn('full_state', 'text', notNull)
      .addColumn('state_since', 'bigint', notNull)
      .addColumn('reported_at', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('ended_at', 'bigint')
      .addColumn('end_cause', 'text')
      .execute()
    const index = (name: string, columns: string[]) => db.schema.createIndex(name).on('gitops_application').columns(columns)
    await index('gitops_application_place', ['runtime_id', 'name', 'namespace']).unique().execute()
    await index('gitops_application_name', ['account_id', 'name', 'id']).execute()
    await index('gitops_application_health', ['account_id', 'health_rank', 'id']).execute()
    await index('gitops_application_since', ['account_id', 'state_since', 'id']).execute()
    await index('gitops_application_ended_at', ['ended_at']).execute()
    await db.schema
      .createTable('gitops_reporter')
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('shard', 'integer', notNull)
      .addColumn('shards', 'integer', notNull)
      .addColumn('version', 'text', notNull)
      .addColumn('full_state', 'text', notNull)
      .addColumn('full_chunk', 'integer', notNull)
      .addColumn('full_started_at', 'bigint', notNull)
      .addColumn('full_at', 'bigint')
      .addColumn('seen_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('gitops_reporter_pk', ['runtime_id', 'shard'])
      .execute()
  },
}

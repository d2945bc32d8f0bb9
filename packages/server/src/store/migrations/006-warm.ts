import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Tables for pairs of engine and daemon that are kept ready for builds. */
export const warm: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('warm_pair')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime', 'text', notNull)
      .addColumn('agent_id', 'text', notNull)
      .addColumn('status', 'text', notNull)
      .addColumn('bootstrap_id', 'text', notNull)
      .addColumn('bootstrap_hash', 'text', notNull)
      .addColumn('spec_hash', 'text', notNull)
      .addColumn('fit_key', 'text', notNull)
      .addColumn('spec', 'text', notNull)
      .addColumn('pipeline_id', 'text')
      .addColumn('project_id', 'text')
      .addColumn('trigger_name', 'text')
      .addColumn('branch', 'text')
      .addColumn('docker_host', 'text')
      .addColumn('build_id', 'text')
      .addColumn('message', 'text')
      .addColumn('attempt', 'integer')
      .addColumn('waits_at', 'bigint')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('ready_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .execute()
    await db.schema.createIndex('warm_pair_bootstrap_id').unique().on('warm_pair').column('bootstrap_id').execute()
    await db.schema.createIndex('warm_pair_account_id_status').on('warm_pair').columns(['account_id', 'status']).execute()
    await db.schema.createIndex('warm_pair_build_id').on('warm_pair').column('build_id').execute()
    await db.schema.alterTable('attempt').addColumn('pair_id', 'text').execute()
    await db.schema.createIndex('attempt_account_id_created_at').on('attempt').columns(['account_id', 'created_at']).execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds samples of the load of runtimes and of the disk, and the version and load of each server. */
export const samples: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('runtime_sample')
      .addColumn('account_id', 'text', notNull)
      .addColumn('at', 'bigint', notNull)
      .addColumn('runtime', 'text', notNull)
      .addColumn('running', 'integer', notNull)
      .addColumn('waiting', 'integer', notNull)
      .addColumn('pairs', 'integer', notNull)
      .addPrimaryKeyConstraint('runtime_sample_pk', ['account_id', 'at', 'runtime'])
      .execute()
    await db.schema
      .createTable('disk_sample')
      .addColumn('account_id', 'text', notNull)
      .addColumn('at', 'bigint', notNull)
      .addColumn('used_bytes', 'bigint', notNull)
      .addColumn('total_bytes', 'bigint', notNull)
      .addPrimaryKeyConstraint('disk_sample_pk', ['account_id', 'at'])
      .execute()
    await db.schema.alterTable('replica').addColumn('version', 'text').execute()
    await db.schema.alterTable('replica').addColumn('lag_ms', 'bigint').execute()
  },
}

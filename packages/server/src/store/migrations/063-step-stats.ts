import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the steps and waits of ended builds, for statistics. Builds that ended before have none. */
export const stepStats: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('ended_step')
      .addColumn('build_id', 'text', notNull)
      .addColumn('attempt', 'integer', notNull)
      .addColumn('step', 'text', notNull)
      .addColumn('try', 'integer', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('status', 'text', notNull)
      .addColumn('reason', 'text')
      .addColumn('started_at', 'bigint', notNull)
      .addColumn('finished_at', 'bigint', notNull)
      .addColumn('memory_bytes', 'bigint')
      .addColumn('cpu_ms', 'bigint')
      .addPrimaryKeyConstraint('ended_step_pk', ['build_id', 'attempt', 'step', 'try'])
      .execute()
    await db.schema
      .createTable('build_wait')
      .addColumn('build_id', 'text', notNull)
      .addColumn('reason', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('waited_ms', 'bigint', notNull)
      .addPrimaryKeyConstraint('build_wait_pk', ['build_id', 'reason'])
      .execute()
  },
}

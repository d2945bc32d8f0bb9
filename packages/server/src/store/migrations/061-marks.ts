import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the folds and problems of streams, which are found when a stream is first read for them. */
export const marks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('stream_marks')
      .addColumn('build_id', 'text', notNull)
      .addColumn('attempt', 'integer', notNull)
      .addColumn('stream', 'text', notNull)
      .addColumn('version', 'integer', notNull)
      .addColumn('bytes', 'bigint', notNull)
      .addColumn('state', 'text', notNull)
      .addPrimaryKeyConstraint('stream_marks_key', ['build_id', 'attempt', 'stream'])
      .execute()
  },
}

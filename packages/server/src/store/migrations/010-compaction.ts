import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds when the log files of a build must be merged, and which files have lost a reference. Builds that already have many files are due immediately. */
export const compaction: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('compact_at', 'bigint').execute()
    await db.schema.alterTable('build').addColumn('followed_at', 'bigint').execute()
    await db.schema.alterTable('build').addColumn('small_objects', 'integer', withDefault(0)).execute()
    await db.schema.alterTable('build').addColumn('compacted_to', 'bigint', withDefault(0)).execute()
    await db.schema.createIndex('build_compact_at').on('build').column('compact_at').execute()
    await db.schema.createTable('dead_object').addColumn('id', 'text', primaryKey).addColumn('object', 'text', notNull).execute()
    await sql`
      update build set compact_at = 0
      where id in (select build_id from chunk group by build_id having count(distinct object) > 32)`.execute(db)
  },
}

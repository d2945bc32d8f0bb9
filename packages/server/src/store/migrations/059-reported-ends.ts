import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds whether the end of a build was reported. Servers before this migration do not set it. The index has the ended builds without it. */
export const reportedEnds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('end_reported', 'integer').execute()
    await sql`create index build_unreported_end on build (finished_at)
      where end_reported is null and finished_at is not null`.execute(db)
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds whether the end of a build was reported. Servers before this migration do not set it. */
export const reportedEnds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('end_reported', 'integer').execute()
  },
}

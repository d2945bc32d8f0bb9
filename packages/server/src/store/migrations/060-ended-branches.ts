import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds when polling reported the end of a branch. */
export const endedBranches: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('branch_head').addColumn('ended_at', 'bigint').execute()
  },
}

import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Refuses decisions about whole builds by servers that do not know them: they take the approval for one of a step and start the build, whatever was
 * decided. Adds when a branch was first missing in a list.
 */
export const startDecisions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table approval add column start_decided integer
      check (step <> '' or decision is null or coalesce(start_decided, 0) = 1)`.execute(db)
    await db.schema.alterTable('branch_head').addColumn('missing_since', 'bigint').execute()
  },
}

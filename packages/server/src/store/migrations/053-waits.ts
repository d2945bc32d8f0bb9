import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * For metrics: adds since when a build has its status and reason, null for builds of earlier versions until their next change, and an index of the messages that
 * are given up.
 */
export const waits: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('waits_since', 'bigint').execute()
    await sql`create index message_failed on message (account_id) where state = 'failed'`.execute(db)
  },
}

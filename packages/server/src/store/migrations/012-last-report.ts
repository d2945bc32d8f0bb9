import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds losses of attempts whose engines may still report, and what is known about missing log. */
export const lastReport: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('attempt').addColumn('loss', 'text').execute()
    await db.schema.alterTable('attempt').addColumn('spooled', 'text').execute()
    await db.schema.alterTable('attempt').addColumn('missing', 'text').execute()
    await db.schema.alterTable('attempt').addColumn('loss_at', 'bigint').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds who wrote a context last. */
export const contextAuthor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('context').addColumn('changed_by', 'text').execute()
  },
}

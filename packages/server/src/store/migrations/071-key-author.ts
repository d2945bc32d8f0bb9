import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds who created a key. Servers before this migration do not set it. */
export const keyAuthor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key').addColumn('created_by', 'text').execute()
  },
}

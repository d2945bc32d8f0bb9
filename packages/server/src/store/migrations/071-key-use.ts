import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds when a key was last used. Servers before this migration do not set it. */
export const keyUse: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key').addColumn('used_at', 'bigint').execute()
  },
}

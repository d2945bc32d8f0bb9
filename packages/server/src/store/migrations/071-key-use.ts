import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds who created a key and when it was last used, and when a delivery was last repeated. Servers before this migration do not set them. */
export const keyUse: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_key').addColumn('created_by', 'text').execute()
    await db.schema.alterTable('api_key').addColumn('used_at', 'bigint').execute()
    await db.schema.alterTable('delivery').addColumn('repeated_at', 'bigint').execute()
  },
}

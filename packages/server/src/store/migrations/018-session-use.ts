import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Adds the hash of the latest secret of a session that arrived in a call, if there is a previous one. It is a hash and not a flag, because an older server that
 * runs beside a newer one replaces the secret without this column.
 */
export const sessionUse: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('session').addColumn('used_hash', 'text').execute()
  },
}

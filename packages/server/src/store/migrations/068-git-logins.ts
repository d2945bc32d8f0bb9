import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the state of access tokens that the server renews to contexts. */
export const gitLogins: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('context').addColumn('expires_at', 'bigint').execute()
    await db.schema.alterTable('context').addColumn('renew_after', 'bigint').execute()
    await db.schema.alterTable('context').addColumn('problem', 'text').execute()
    await db.schema.alterTable('context').addColumn('refused_at', 'bigint').execute()
  },
}

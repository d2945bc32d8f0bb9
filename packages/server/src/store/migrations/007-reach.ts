import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the address at which engines reach the server, and the time since which an engine runs and may call. */
export const reach: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent').addColumn('server_url', 'text').execute()
    await db.schema.alterTable('attempt').addColumn('engine_since', 'bigint').execute()
    await db.schema.alterTable('warm_pair').addColumn('engine_since', 'bigint').execute()
  },
}

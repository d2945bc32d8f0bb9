import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the time at which an attempt last waited for its turn on the nodes, which does not count against its start timeout. */
export const turns: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('attempt').addColumn('turn_at', 'bigint').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the time at which an attempt or a pair last waited for its turn on the nodes, which does not count against its start timeout. */
export const turns: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of ['attempt', 'warm_pair']) await db.schema.alterTable(table).addColumn('turn_at', 'bigint').execute()
  },
}

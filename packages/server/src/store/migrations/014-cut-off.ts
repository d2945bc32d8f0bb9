import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the time since which an agent calls without a pause, so that engines are not blamed for an outage of their whole cluster. */
export const cutOff: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent').addColumn('heard_since', 'bigint').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the last report of the checks of each agent. */
export const checks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('agent_check')
      .addColumn('agent_id', 'text', notNull)
      .addColumn('source', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('at', 'bigint', notNull)
      .addColumn('requested_by', 'text', notNull)
      .addColumn('findings', 'text', notNull)
      .addPrimaryKeyConstraint('agent_check_pk', ['agent_id', 'source'])
      .execute()
  },
}

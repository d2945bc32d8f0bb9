import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the last check of each context by the agent of each runtime. */
export const contextChecks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('context_check')
      .addColumn('context_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('job_id', 'text', notNull)
      .addColumn('agent', 'text', notNull)
      .addColumn('requested_by', 'text', notNull)
      .addColumn('requested_at', 'bigint', notNull)
      .addColumn('expires_at', 'bigint', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('message', 'text')
      .addColumn('result', 'text')
      .addPrimaryKeyConstraint('context_check_pk', ['context_id', 'runtime_id'])
      .execute()
  },
}

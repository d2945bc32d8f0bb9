import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the calls at app-proxies whose end is not known yet, so that the audit log has each of them. */
export const runtimeCalls: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitops_call')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('call', 'text', notNull)
      .addColumn('begun_at', 'bigint', notNull)
      .addColumn('lost_at', 'bigint')
      .execute()
    await db.schema.createIndex('gitops_call_begun_at').on('gitops_call').column('begun_at').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds the audit log, and the newest record of it, whose row is locked while a record is added. */
export const audit: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('audit')
      .addColumn('account_id', 'text', notNull)
      .addColumn('seq', 'bigint', notNull)
      .addColumn('at', 'bigint', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('actor_id', 'text', notNull)
      .addColumn('actor', 'text', notNull)
      .addColumn('owner', 'text')
      .addColumn('action', 'text', notNull)
      .addColumn('target', 'text', notNull)
      .addColumn('result', 'text', notNull)
      .addColumn('code', 'text')
      .addColumn('detail', 'text')
      .addColumn('address', 'text', notNull)
      .addColumn('client', 'text')
      .addColumn('request_id', 'text', notNull)
      .addColumn('hash', 'text', notNull)
      .addPrimaryKeyConstraint('audit_key', ['account_id', 'seq'])
      .execute()
    await db.schema
      .createTable('audit_chain')
      .addColumn('account_id', 'text', primaryKey)
      .addColumn('seq', 'bigint', notNull)
      .addColumn('hash', 'text', notNull)
      .addColumn('deleted_seq', 'bigint', notNull)
      .addColumn('deleted_hash', 'text', notNull)
      .execute()
  },
}

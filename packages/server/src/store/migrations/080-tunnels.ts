import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds GitOps runtimes, their tokens, and where their tunnels are connected. */
export const tunnels: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitops_runtime')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('created_by', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('gitops_runtime_name').unique().on('gitops_runtime').columns(['account_id', 'name']).execute()
    await db.schema
      .createTable('gitops_token')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('hash', 'text', notNull)
      .addColumn('created_by', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('gitops_token_runtime').on('gitops_token').columns(['runtime_id']).execute()
    await db.schema
      .createTable('tunnel')
      .addColumn('runtime_id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('session', 'text', notNull)
      .addColumn('token_id', 'text', notNull)
      .addColumn('client', 'text', notNull)
      .addColumn('client_version', 'text', notNull)
      .addColumn('address', 'text', notNull)
      .addColumn('server', 'text', notNull)
      .addColumn('server_url', 'text')
      .addColumn('state', 'text', notNull)
      .addColumn('connected_at', 'bigint', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .execute()
  },
}

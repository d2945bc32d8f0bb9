import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, withDefault } from './columns.ts'

/** Adds the branches of repositories whose webhooks may miss a push. */
export const polling: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('webhook').addColumn('polls', 'integer', withDefault(1)).execute()
    await db.schema.alterTable('delivery').addColumn('polled', 'integer', withDefault(0)).execute()
    await db.schema.alterTable('delivery').addColumn('late_heads', 'text').execute()
    await db.schema.createIndex('delivery_head').on('delivery').columns(['account_id', 'repo', 'revision']).execute()
    await db.schema
      .createTable('polled_repo')
      .addColumn('webhook_id', 'text', notNull)
      .addColumn('repo', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('polled_at', 'bigint')
      .addColumn('problem', 'text')
      .addColumn('next_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('polled_repo_key', ['webhook_id', 'repo'])
      .execute()
    await db.schema.createIndex('polled_repo_due').on('polled_repo').column('next_at').execute()
    await db.schema.createIndex('polled_repo_of').on('polled_repo').columns(['account_id', 'repo']).execute()
    await db.schema
      .createTable('branch_head')
      .addColumn('webhook_id', 'text', notNull)
      .addColumn('repo', 'text', notNull)
      .addColumn('branch', 'text', notNull)
      .addColumn('account_id', 'text', notNull)
      .addColumn('revision', 'text', notNull)
      .addColumn('polled_base', 'text')
      .addPrimaryKeyConstraint('branch_head_key', ['webhook_id', 'repo', 'branch'])
      .execute()
    await db.schema.createIndex('branch_head_of').on('branch_head').columns(['account_id', 'repo']).execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds the disks that agents report, and jobs of agents that belong to no build. */
export const disks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('agent').addColumn('features', 'text').execute()
    await db.schema.alterTable('agent').addColumn('disk_seq', 'integer', withDefault(0)).execute()
    await db.schema.alterTable('agent').addColumn('disks_at', 'bigint').execute()
    await db.schema.alterTable('agent').addColumn('disks_hidden', 'integer', withDefault(0)).execute()
    await db.schema.alterTable('agent').addColumn('disks_failed', 'text').execute()
    await db.schema
      .createTable('disk')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('agent_id', 'text', notNull)
      .addColumn('uid', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('runtime', 'text')
      .addColumn('pipeline_id', 'text')
      .addColumn('build_id', 'text')
      .addColumn('state', 'text', notNull)
      .addColumn('state_since', 'bigint', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('removal_at', 'bigint')
      .addColumn('removal_by', 'text')
      .addColumn('removal_message', 'text')
      .addColumn('removed_at', 'bigint')
      .execute()
    await db.schema.createIndex('disk_uid').unique().on('disk').columns(['account_id', 'uid']).execute()
    await db.schema.createIndex('disk_agent').on('disk').columns(['agent_id']).execute()
    await db.schema
      .createTable('agent_job')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('agent_id', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('subject', 'text', notNull)
      .addColumn('status', 'text', notNull)
      .addColumn('revision', 'integer', notNull)
      .addColumn('failures', 'integer', notNull)
      .addColumn('available_at', 'bigint', notNull)
      .addColumn('leased_until', 'bigint')
      .addColumn('expires_at', 'bigint')
      .addColumn('payload', 'text', notNull)
      .addColumn('requested_by', 'text', notNull)
      .addColumn('message', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('done_at', 'bigint')
      .execute()
    await db.schema.createIndex('agent_job_agent').on('agent_job').columns(['agent_id', 'status']).execute()
  },
}

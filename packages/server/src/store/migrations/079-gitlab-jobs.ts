import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds what managers of GitLab runners report. */
export const gitlabJobs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('gitlab_manager')
      .addColumn('account_id', 'text', notNull)
      .addColumn('id', 'text', notNull)
      .addColumn('instance', 'text', notNull)
      .addColumn('seq', 'bigint', notNull)
      .addColumn('key_name', 'text', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('gitlab_manager_pk', ['account_id', 'id'])
      .execute()
    await db.schema
      .createTable('gitlab_job')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('gitlab', 'text', notNull)
      .addColumn('number', 'bigint', notNull)
      .addColumn('manager', 'text', notNull)
      .addColumn('host', 'text', notNull)
      .addColumn('runner', 'text', notNull)
      .addColumn('project', 'text', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('state_since', 'bigint', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .execute()
    await db.schema
      .createIndex('gitlab_job_number')
      .unique()
      .on('gitlab_job')
      .columns(['account_id', 'gitlab', 'number'])
      .execute()
    await db.schema.createIndex('gitlab_job_state').on('gitlab_job').columns(['account_id', 'state', 'id']).execute()
    await db.schema.createIndex('gitlab_job_seen_at').on('gitlab_job').columns(['seen_at']).execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the quotas of projects. */
export const projectQuotas: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('project').addColumn('concurrency', 'integer').execute()
    for (const column of ['build_days', 'log_days', 'max_builds', 'max_log_bytes'])
      await db.schema.alterTable('project').addColumn(column, 'bigint').execute()
  },
}

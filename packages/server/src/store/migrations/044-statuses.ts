import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds where the state of a build is reported. */
export const statuses: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build_plan').addColumn('commit_target', 'text').execute()
  },
}

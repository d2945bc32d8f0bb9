import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Adds the kind of a task's subject. It stays null in older tasks, and in those of an older server that runs beside a newer one: readers find the kind
 * themselves then, so that a large table is not rewritten.
 */
export const subjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('task').addColumn('subject_kind', 'text').execute()
  },
}

import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the parent of a build. Does not copy it from annotations of older builds, because steps could change those. */
export const rights: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('parent_id', 'text').execute()
    await db.schema.createIndex('build_parent_id').on('build').column('parent_id').execute()
  },
}

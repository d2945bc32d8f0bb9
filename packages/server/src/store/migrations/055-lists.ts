import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the commit to builds, which lists show and search. Earlier builds have none. */
export const lists: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('commit_message', 'text').execute()
    await db.schema.alterTable('build').addColumn('commit_author', 'text').execute()
  },
}

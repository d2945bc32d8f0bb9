import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the file name of the document to builds without a pipeline, which have no other name in lists. */
export const documentFiles: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('document_file', 'text').execute()
  },
}

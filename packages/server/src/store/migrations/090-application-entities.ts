import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { withDefault } from './columns.ts'

/** What an application is for its runtime: the label that public clients list by. */
const ENTITY = '"codefresh.io/entity":"'
const KNOWN = ['git-source', 'component'] as const

/** Adds what applications are for their runtimes, so that lists need not read all of them. */
export const applicationEntities: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('gitops_application').addColumn('entity', 'text', withDefault('')).execute()
    // In a text of the JSON the quotes have backslashes, so only the label itself is found.
    for (const entity of KNOWN)
      await sql`update gitops_application set entity = ${sql.lit(entity)} where facts like ${sql.lit(`%${ENTITY}${entity}"%`)}`.execute(
        db,
      )
    // Others are sent again, because the next full state finds other versions.
    await sql`update gitops_application set version = '', digest = 'earlier'
      where digest != '' and entity = '' and facts like ${sql.lit(`%${ENTITY}%`)}`.execute(db)
    // The next report, a minute later, has those that are still there, with texts that are short enough.
    await sql`delete from gitops_cluster`.execute(db)
  },
}

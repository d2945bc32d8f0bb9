import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { withDefault } from './columns.ts'

/** Adds what installers say about GitOps runtimes, and the deployments of applications. */
export const runtimeFacts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('gitops_runtime').addColumn('installation', 'text', withDefault('{}')).execute()
    await db.schema.alterTable('gitops_runtime').addColumn('errors', 'text', withDefault('[]')).execute()
    await db.schema.alterTable('gitops_application').addColumn('deployments', 'text', withDefault('[]')).execute()
    // The next full state finds other versions, so reporters send all applications again and fill the column. An empty digest marks what was never seen.
    await sql`update gitops_application set version = '', digest = 'earlier' where digest != ''`.execute(db)
  },
}

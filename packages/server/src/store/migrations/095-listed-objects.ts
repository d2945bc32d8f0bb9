import { systemClock } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { withDefault } from './columns.ts'

/** Adds when a runtime last had an object, which tells what it does not report any more. Rows of servers of the version before have 0. */
export const listedObjects: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('gitops_object').addColumn('listed_at', 'bigint', withDefault(0)).execute()
    await sql`update gitops_object set listed_at = ${systemClock.now()}`.execute(db)
  },
}

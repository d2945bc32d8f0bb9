import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { withDefault } from './columns.ts'

/** Output of terminals stays after one reader has acknowledged it, for others and for pages that are loaded again. */
export const terminalOutput: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('terminal').addColumn('ack_seq', 'bigint', withDefault(0)).execute()
    await db.schema.alterTable('terminal').addColumn('out_bytes', 'bigint', withDefault(0)).execute()
  },
}

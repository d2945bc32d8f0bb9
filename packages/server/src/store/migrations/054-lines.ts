import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { withDefault } from './columns.ts'

/** Adds the numbers of lines to streams and chunks. Those of existing logs are counted when they are first read. */
export const lines: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['counted', 'lines', 'line_start'])
      await db.schema.alterTable('stream').addColumn(column, 'bigint', withDefault(0)).execute()
    await db.schema.alterTable('stream').addColumn('first_at', 'bigint').execute()
    await db.schema.alterTable('stream').addColumn('last_at', 'bigint').execute()
    await db.schema.alterTable('chunk').addColumn('first_line', 'bigint').execute()
    await db.schema.alterTable('chunk').addColumn('lines', 'bigint').execute()
  },
}

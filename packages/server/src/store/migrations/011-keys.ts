import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Adds the master key from which credentials of attempts and warm pairs are derived, and the master keys of each running server. */
export const keys: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('attempt').addColumn('key_id', 'text', withDefault('')).execute()
    await db.schema.alterTable('warm_pair').addColumn('key_id', 'text', withDefault('')).execute()
    await sql`update attempt set key_id = coalesce((select value from meta where key = 'master-key'), '')`.execute(db)
    await sql`update warm_pair set key_id = coalesce((select value from meta where key = 'master-key'), '')`.execute(db)
    await db.schema
      .createTable('replica')
      .addColumn('id', 'text', primaryKey)
      .addColumn('keys', 'text', notNull)
      .addColumn('seen_at', 'bigint', notNull)
      .execute()
  },
}

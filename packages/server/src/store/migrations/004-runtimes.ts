import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, type Table } from './tables.ts'

/** Runtimes have versions, and layers: what somebody wrote (`layer`) apart from what it makes with all that it extends (`spec`). */
export const runtimes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('runtime')
      .addColumn('layer', 'text', (column) => column.notNull().defaultTo('{}'))
      .execute()
    await db.schema
      .alterTable('runtime')
      .addColumn('version', 'integer', (column) => column.notNull().defaultTo(1))
      .execute()
    await db.schema
      .alterTable('runtime')
      .addColumn('changed_by', 'text', (column) => column.notNull().defaultTo(''))
      .execute()
    await sql`update runtime set layer = spec`.execute(db)
    const version = columns(
      db.schema.createTable('runtime_version') as Table,
      'text',
      'account_id runtime_id layer changed_by description?',
    )
    await columns(columns(version, 'integer', 'version'), 'bigint', 'created_at')
      .addPrimaryKeyConstraint('runtime_version_pk', ['runtime_id', 'version'])
      .execute()
    await sql`insert into runtime_version (account_id, runtime_id, version, layer, changed_by, created_at)
      select account_id, id, 1, spec, '', updated_at from runtime`.execute(db)
    const base = columns(db.schema.createTable('base_layer') as Table, 'text', 'account_id name layer changed_by')
    await columns(columns(base, 'integer', 'version'), 'bigint', 'updated_at')
      .addPrimaryKeyConstraint('base_layer_pk', ['account_id', 'name'])
      .execute()
    await index(db, 'pipeline', 'account_id runtime')
  },
}

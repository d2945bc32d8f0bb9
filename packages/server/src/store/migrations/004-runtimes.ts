import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, withDefault } from './columns.ts'

/** Adds versions and layers to runtimes: `layer` is what the user wrote, `spec` is the result of merging it with everything that it extends. */
export const runtimes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('runtime').addColumn('layer', 'text', withDefault('{}')).execute()
    await db.schema.alterTable('runtime').addColumn('version', 'integer', withDefault(1)).execute()
    await db.schema.alterTable('runtime').addColumn('changed_by', 'text', withDefault('')).execute()
    await sql`update runtime set layer = spec`.execute(db)
    await db.schema
      .createTable('runtime_version')
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('layer', 'text', notNull)
      .addColumn('changed_by', 'text', notNull)
      .addColumn('description', 'text')
      .addColumn('version', 'integer', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('runtime_version_pk', ['runtime_id', 'version'])
      .execute()
    await sql`insert into runtime_version (account_id, runtime_id, version, layer, changed_by, created_at)
      select account_id, id, 1, spec, '', updated_at from runtime`.execute(db)
    await db.schema
      .createTable('base_layer')
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('layer', 'text', notNull)
      .addColumn('changed_by', 'text', notNull)
      .addColumn('version', 'integer', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('base_layer_pk', ['account_id', 'name'])
      .execute()
    await db.schema.createIndex('pipeline_account_id_runtime').on('pipeline').columns(['account_id', 'runtime']).execute()
  },
}

import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey, withDefault } from './columns.ts'

/** Columns that say to which product and environment an application belongs, and which version it got. */
const PLACE_COLUMNS = ['product', 'component', 'cluster', 'cluster_namespace', 'promoted_version'] as const

/** Adds environments, products, releases of products, and what app-proxies do for them. */
export const releases: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const name of PLACE_COLUMNS)
      await db.schema.alterTable('gitops_application').addColumn(name, 'text', withDefault('')).execute()
    // The next full state finds other versions, so reporters send all applications again and fill the columns.
    await sql`update gitops_application set version = ''`.execute(db)
    await db.schema
      .createTable('gitops_definition')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('kind', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('spec', 'text', notNull)
      .addColumn('created_by', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('changed_by', 'text', notNull)
      .addColumn('changed_at', 'bigint', notNull)
      .execute()
    await db.schema
      .createIndex('gitops_definition_name')
      .on('gitops_definition')
      .columns(['account_id', 'kind', 'name'])
      .unique()
      .execute()
    await db.schema
      .createTable('gitops_release')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('product', 'text', notNull)
      .addColumn('number', 'integer', notNull)
      .addColumn('status', 'text', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('started_at', 'bigint')
      .addColumn('ended_at', 'bigint')
      .execute()
    const index = (name: string, columns: string[]) => db.schema.createIndex(name).on('gitops_release').columns(columns)
    await index('gitops_release_number', ['account_id', 'product', 'number']).unique().execute()
    await index('gitops_release_status', ['account_id', 'status', 'id']).execute()
    await index('gitops_release_ended_at', ['ended_at']).execute()
    await db.schema
      .createTable('gitops_errand')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('runtime_id', 'text', notNull)
      .addColumn('release_id', 'text', notNull)
      .addColumn('work', 'text', notNull)
      .addColumn('state', 'text', notNull)
      .addColumn('due_at', 'bigint', notNull)
      .addColumn('tries', 'integer', notNull)
      .addColumn('result', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('gitops_errand_due').on('gitops_errand').columns(['runtime_id', 'due_at']).execute()
    await db.schema.createIndex('gitops_errand_release').on('gitops_errand').column('release_id').execute()
  },
}

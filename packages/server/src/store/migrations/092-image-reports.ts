import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds what is known of images: their commits, issues, and who has built them. */
export const imageReports: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('image_report')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('digest', 'text', notNull)
      .addColumn('source', 'text', notNull)
      .addColumn('workflow', 'text', notNull)
      .addColumn('revision', 'text', notNull)
      .addColumn('tags', 'text', notNull)
      .addColumn('facts', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('reported_at', 'bigint', notNull)
      .execute()
    const index = (name: string, columns: string[]) => db.schema.createIndex(name).on('image_report').columns(columns)
    await index('image_report_name', ['account_id', 'name', 'digest', 'source', 'workflow']).unique().execute()
    await index('image_report_revision', ['account_id', 'revision']).execute()
    await index('image_report_reported_at', ['reported_at']).execute()
  },
}

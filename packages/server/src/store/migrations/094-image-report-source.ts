import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Finds the oldest reports of a source without a look at those of others. */
export const imageReportSource: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const columns = ['account_id', 'source', 'reported_at', 'id']
    await db.schema.createIndex('image_report_source').on('image_report').columns(columns).execute()
  },
}

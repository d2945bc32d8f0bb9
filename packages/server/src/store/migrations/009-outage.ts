import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds when a build lost its log because of its age. For builds that already lost it, derives this from the positions missing in their feeds. */
export const outage: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('logs_expired_at', 'bigint').execute()
    await sql`
      update build set logs_expired_at = finished_at
      where finished_at is not null
        and not exists (select 1 from chunk where chunk.build_id = build.id)
        and feed_position > (select count(*) from event where event.build_id = build.id)`.execute(db)
  },
}

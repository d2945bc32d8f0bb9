import { newId } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { readCronTriggers } from '../../triggers/cron/read-cron-triggers.ts'
import { notNull, primaryKey } from './columns.ts'
import { forEachRow, PAGE } from './documents.ts'

/**
 * Adds cron triggers. Those that stored documents already contain become rows that are disabled: an upgrade must not start builds that nobody expects.
 * They start builds when their pipeline is stored again. Calls the code of the server for the reason that 021 gives.
 */
export const cron: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('cron_trigger')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('pipeline_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('origin', 'text', notNull)
      .addColumn('spec', 'text', notNull)
      .addColumn('next_at', 'bigint')
      .addColumn('fired_at', 'bigint')
      .addColumn('problem', 'text')
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('cron_trigger_name').on('cron_trigger').columns(['pipeline_id', 'name']).unique().execute()
    await sql`create index cron_trigger_due on cron_trigger (next_at) where next_at is not null`.execute(db)
    await forEachRow(async (after) => {
      const { rows } = await sql<{ id: string; account_id: string; settings: string; updated_at: number }>`
        select id, account_id, settings, updated_at from pipeline
        where id > ${after} and settings like '%"cronTriggers"%' order by id limit ${PAGE}`.execute(db)
      for (const { id, account_id: account, settings, updated_at: at } of rows) {
        const { kept } = JSON.parse(settings) as { kept?: { triggers?: unknown; cronTriggers?: unknown } }
        for (const trigger of readCronTriggers(kept?.cronTriggers, kept?.triggers).triggers)
          await sql`insert into cron_trigger (id, account_id, pipeline_id, name, origin, spec, created_at, updated_at) values
            (${newId(Number(at))}, ${account}, ${id}, ${trigger.name}, 'document', ${JSON.stringify(trigger)}, ${at}, ${at})`.execute(
            db,
          )
      }
      return rows.map(({ id }) => id)
    })
  },
}

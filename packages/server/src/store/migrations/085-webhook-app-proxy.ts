import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds the app-proxy that reaches the forge of a webhook. */
export const webhookAppProxy: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('webhook').addColumn('app_proxy', 'text').execute()
  },
}

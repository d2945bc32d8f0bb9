import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Counts the calls at the app-proxy of a runtime for its limits without a look at those of others. The table is small, because it has the calls in progress. */
export const runtimeCallIndex: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.createIndex('gitops_call_runtime_id_lost_at').on('gitops_call').columns(['runtime_id', 'lost_at']).execute()
  },
}

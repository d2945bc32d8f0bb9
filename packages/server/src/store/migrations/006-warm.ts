import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, owned } from './tables.ts'

/** Pairs of engine and daemon that are kept ready for builds. */
export const warm: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const pair = columns(
      owned(db, 'warm_pair'),
      'text',
      'runtime agent_id status bootstrap_id bootstrap_hash spec_hash fit_key spec pipeline_id? project_id? trigger_name? branch? ' +
        'docker_host? build_id? message?',
    )
    await columns(columns(pair, 'integer', 'attempt?'), 'bigint', 'waits_at? created_at ready_at? ended_at?').execute()
    await index(db, 'warm_pair', 'bootstrap_id', true)
    await index(db, 'warm_pair', 'account_id status')
    await index(db, 'warm_pair', 'build_id')
    await db.schema.alterTable('attempt').addColumn('pair_id', 'text').execute()
    await index(db, 'attempt', 'account_id created_at')
  },
}

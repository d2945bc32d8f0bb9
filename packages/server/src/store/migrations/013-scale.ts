import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds indexes so that no frequent query reads builds that ended long ago (docs/development/adr/0065). */
export const scale: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await lists(db)
    await queue(db)
    await leftovers(db)
  },
}

/** Indexes for lists. Each ends with the number, so that a page is read in order from its cursor. */
async function lists(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('build_status_created_at').execute()
  await db.schema.dropIndex('build_pipeline_id_status').execute()
  await db.schema.createIndex('build_account_id_status_number').on('build').columns(['account_id', 'status', 'number']).execute()
  await db.schema.createIndex('build_account_id_branch_number').on('build').columns(['account_id', 'branch', 'number']).execute()
  await db.schema
    .createIndex('build_account_id_pipeline_number')
    .on('build')
    .columns(['account_id', 'pipeline', 'number'])
    .execute()
  await db.schema
    .createIndex('build_account_id_pipeline_id_number')
    .on('build')
    .columns(['account_id', 'pipeline_id', 'number'])
    .execute()
  await db.schema
    .createIndex('build_account_id_pipeline_id_status_number')
    .on('build')
    .columns(['account_id', 'pipeline_id', 'status', 'number'])
    .execute()
  await db.schema
    .createIndex('build_account_id_pipeline_id_branch_number')
    .on('build')
    .columns(['account_id', 'pipeline_id', 'branch', 'number'])
    .execute()
}

/** Indexes over the few waiting rows among the many that ended. */
async function queue(db: Kysely<unknown>): Promise<void> {
  await sql`create index build_waiting
    on build (account_id, runtime, pipeline_id, branch, trigger_name, priority, reason, number)
    where status = 'pending' and held = 0`.execute(db)
  await sql`create index build_queued on build (account_id, runtime) where status in ('pending', 'delayed')`.execute(db)
  await sql`create index build_queued_at on build (account_id, queued_at) where status in ('pending', 'delayed')`.execute(db)
  await sql`create index build_queued_first on build (account_id, number)
    where status in ('pending', 'delayed') and attempt = 0`.execute(db)
  await sql`create index build_asking on build (account_id, pipeline_id, branch, trigger_name)
    where status = 'pending-approval' and approval_counts = 1`.execute(db)
  await sql`create index task_open on task (agent_id, created_at, id, status) where status in ('queued', 'leased')`.execute(db)
  await sql`create index approval_open on approval (account_id, expires_at) where decision is null`.execute(db)
}

/** Indexes for cleanup and for the view of a runtime. */
async function leftovers(db: Kysely<unknown>): Promise<void> {
  await sql`create index build_log_kept on build (finished_at) where logs_expired_at is null`.execute(db)
  await db.schema.createIndex('warm_pair_ended_at').on('warm_pair').column('ended_at').execute()
  await db.schema
    .createIndex('warm_pair_account_id_runtime_ended_at')
    .on('warm_pair')
    .columns(['account_id', 'runtime', 'ended_at'])
    .execute()
  await db.schema
    .createIndex('warm_pair_account_id_runtime_ready_at')
    .on('warm_pair')
    .columns(['account_id', 'runtime', 'ready_at'])
    .execute()
}

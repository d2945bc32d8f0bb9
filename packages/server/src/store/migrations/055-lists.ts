import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Adds what lists of builds show and search: the commit, and indexes for times, commits, repetitions and decisions. Earlier builds have no commit message. */
export const lists: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('build').addColumn('commit_message', 'text').execute()
    await db.schema.alterTable('build').addColumn('commit_author', 'text').execute()
    await db.schema.createIndex('build_account_id_created_at').on('build').columns(['account_id', 'created_at']).execute()
    await db.schema.createIndex('build_account_id_revision').on('build').columns(['account_id', 'revision']).execute()
    await db.schema.createIndex('build_restart_of').on('build').column('restart_of').execute()
    await sql`create index approval_decided on approval (account_id, decided_at) where decision is not null`.execute(db)
  },
}

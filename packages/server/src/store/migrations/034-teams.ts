import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds teams of users. The roles of a team in projects are in `project_role`. */
export const teams: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('team')
      .addColumn('id', 'text', primaryKey)
      .addColumn('account_id', 'text', notNull)
      .addColumn('name', 'text', notNull)
      .addColumn('role', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addColumn('updated_at', 'bigint', notNull)
      .execute()
    await db.schema.createIndex('team_name').unique().on('team').columns(['account_id', 'name']).execute()
    await db.schema
      .createTable('team_member')
      .addColumn('team_id', 'text', notNull)
      .addColumn('user_id', 'text', notNull)
      .addPrimaryKeyConstraint('team_member_key', ['team_id', 'user_id'])
      .execute()
    await db.schema.createIndex('team_member_user_id').on('team_member').column('user_id').execute()
  },
}

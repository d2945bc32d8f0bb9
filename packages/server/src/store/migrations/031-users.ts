import { newId } from '@windlass/kit'
import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull, primaryKey } from './columns.ts'

/** Adds users and service accounts with their roles, owners and ends of keys, invitations, and sessions of users (docs/development/adr/0083). */
export const users: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await createTables(db)
    await db.schema.alterTable('api_key').addColumn('user_id', 'text').execute()
    await db.schema.alterTable('api_key').addColumn('expires_at', 'bigint').execute()
    await db.schema.createIndex('api_key_user_id').on('api_key').column('user_id').execute()
    await db.schema.alterTable('session').addColumn('user_id', 'text').execute()
    await db.schema.createIndex('session_user_id').on('session').column('user_id').execute()
    await addFirstAdmins(db)
  },
}

async function createTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('user_account')
    .addColumn('id', 'text', primaryKey)
    .addColumn('account_id', 'text', notNull)
    .addColumn('kind', 'text', notNull)
    .addColumn('name', 'text', notNull)
    .addColumn('display_name', 'text')
    .addColumn('role', 'text', notNull)
    .addColumn('password', 'text')
    .addColumn('disabled_at', 'bigint')
    .addColumn('signed_in_at', 'bigint')
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('updated_at', 'bigint', notNull)
    .execute()
  await db.schema.createIndex('user_account_name').unique().on('user_account').columns(['account_id', 'name']).execute()
  await db.schema
    .createTable('project_role')
    .addColumn('subject_id', 'text', notNull)
    .addColumn('project_id', 'text', notNull)
    .addColumn('role', 'text', notNull)
    .addPrimaryKeyConstraint('project_role_key', ['subject_id', 'project_id'])
    .execute()
  await db.schema.createIndex('project_role_project_id').on('project_role').column('project_id').execute()
  await db.schema
    .createTable('invitation')
    .addColumn('id', 'text', primaryKey)
    .addColumn('user_id', 'text', notNull)
    .addColumn('hash', 'text', notNull)
    .addColumn('created_at', 'bigint', notNull)
    .addColumn('expires_at', 'bigint', notNull)
    .execute()
  await db.schema.createIndex('invitation_user_id').on('invitation').column('user_id').execute()
}

/** The oldest admin key of an account gets a user as its owner. The owners of the other keys are not known. */
async function addFirstAdmins(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ id: string; account_id: string; name: string; created_at: number }>`
    select id, account_id, name, created_at from api_key where role = 'admin' and scopes is null order by created_at, id`.execute(
    db,
  )
  const seen = new Set<string>()
  for (const key of rows) {
    if (seen.has(key.account_id)) continue
    seen.add(key.account_id)
    const id = newId(Number(key.created_at))
    const name = toUserName(key.name)
    await sql`insert into user_account (id, account_id, kind, name, role, created_at, updated_at)
      values (${id}, ${key.account_id}, 'user', ${name}, 'admin', ${key.created_at}, ${key.created_at})`.execute(db)
    await sql`update api_key set user_id = ${id} where id = ${key.id}`.execute(db)
  }
}

/** Returns the name of the key as the name of a user, which has fewer characters to choose from. */
function toUserName(name: string): string {
  const text = name.toLowerCase().replaceAll(/[^a-z0-9._@-]/g, '-')
  return text.slice(0, 100)
}

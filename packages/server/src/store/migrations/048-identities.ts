import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { notNull } from './columns.ts'

/** Adds the subjects of OpenID Connect providers as which users sign in. */
export const identities: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('user_identity')
      .addColumn('account_id', 'text', notNull)
      .addColumn('issuer', 'text', notNull)
      .addColumn('subject', 'text', notNull)
      .addColumn('user_id', 'text', notNull)
      .addColumn('created_at', 'bigint', notNull)
      .addPrimaryKeyConstraint('user_identity_key', ['account_id', 'issuer', 'subject'])
      .execute()
    await db.schema.createIndex('user_identity_user_id').on('user_identity').column('user_id').execute()
  },
}

import { sql, type Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, owned, type Table } from './tables.ts'

/** What the whole pipeline language needs: step types, approvals, annotations, images, terminals, and settings of account and pipelines. */
export const language: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await settings(db)
    await builds(db)
    await words(db)
    await commands(db)
    await debugging(db)
  },
}

interface Added {
  readonly type: 'text' | 'integer' | 'bigint'
  /** Of the rows that are there already; the column may be null when there is none. */
  readonly value?: string | number
}

/** Adds columns one by one: SQLite takes no more at a time. */
async function add(db: Kysely<unknown>, table: string, added: Readonly<Record<string, Added>>): Promise<void> {
  for (const [name, { type, value }] of Object.entries(added))
    await db.schema
      .alterTable(table)
      .addColumn(name, type, (column) => (value === undefined ? column : column.notNull().defaultTo(value)))
      .execute()
}

async function settings(db: Kysely<unknown>): Promise<void> {
  await add(db, 'account', { settings: { type: 'text', value: '{}' } })
  await add(db, 'pipeline', { settings: { type: 'text', value: '{}' }, trigger_concurrency: { type: 'integer' } })
  const stepType = columns(owned(db, 'step_type'), 'text', 'name version description manifest')
  await columns(stepType, 'bigint', 'created_at updated_at').execute()
  await index(db, 'step_type', 'account_id name version', true)
}

async function builds(db: Kysely<unknown>): Promise<void> {
  await add(db, 'build', {
    trigger_name: { type: 'text' },
    approval_counts: { type: 'integer', value: 0 },
    keeps_volume: { type: 'integer', value: 0 },
    paused_ms: { type: 'bigint', value: 0 },
    queued_at: { type: 'bigint', value: 0 },
    paused_at: { type: 'bigint' },
  })
  await sql`update build set queued_at = created_at`.execute(db)
  await add(db, 'build_plan', { step_types: { type: 'text' }, fetched: { type: 'text' } })
  await add(db, 'attempt', { cause: { type: 'text' }, use: { type: 'text' }, active_at: { type: 'bigint' } })
}

/** A command has data of its own now; before, all it had was a reason, a word of a closed list. */
async function commands(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('command').renameColumn('reason', 'data').execute()
  await sql`update command set data = '{"reason":"' || data || '"}'`.execute(db)
}

/** What people and steps say about a build: decisions and annotations. */
async function words(db: Kysely<unknown>): Promise<void> {
  const approval = columns(
    db.schema.createTable('approval') as Table,
    'text',
    'build_id account_id step final_state decision? comment? decided_by? decider_type?',
  )
  await columns(columns(approval, 'integer', 'attempt seen'), 'bigint', 'waiting_since expires_at decided_at?')
    .addPrimaryKeyConstraint('approval_pk', ['build_id', 'step'])
    .execute()
  await index(db, 'approval', 'expires_at')
  const annotation = columns(db.schema.createTable('annotation') as Table, 'text', 'account_id entity entity_id kind name value')
  await columns(columns(annotation, 'integer', 'display'), 'bigint', 'updated_at')
    .addPrimaryKeyConstraint('annotation_pk', ['account_id', 'entity', 'entity_id', 'kind', 'name'])
    .execute()
  await index(db, 'annotation', 'entity name')
  const image = columns(owned(db, 'image'), 'text', 'build_id pipeline_id? step image_id name tags digest? content_hash?')
  await columns(columns(image, 'integer', 'pushed cache_hits? cache_misses?'), 'bigint', 'size_bytes? created_at').execute()
  await index(db, 'image', 'build_id step name', true)
  await index(db, 'image', 'account_id image_id')
  await index(db, 'image', 'pipeline_id created_at')
}

async function debugging(db: Kysely<unknown>): Promise<void> {
  const terminal = columns(owned(db, 'terminal'), 'text', 'build_id step phase opened_by message?')
  await columns(
    columns(terminal, 'integer', 'attempt exit_code?'),
    'bigint',
    'in_seq out_seq seen_at created_at ended_at?',
  ).execute()
  await index(db, 'terminal', 'build_id')
  const part = columns(db.schema.createTable('terminal_part') as Table, 'text', 'terminal_id build_id direction data')
  await columns(columns(part, 'integer', 'bytes'), 'bigint', 'seq')
    .addPrimaryKeyConstraint('terminal_part_pk', ['terminal_id', 'direction', 'seq'])
    .execute()
  await index(db, 'terminal_part', 'build_id')
}

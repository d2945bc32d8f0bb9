import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { columns, index, owned, type Table } from './tables.ts'

export const initial: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await identity(db)
    await resources(db)
    await builds(db)
    await facts(db)
    await work(db)
  },
}

async function identity(db: Kysely<unknown>): Promise<void> {
  await columns(
    db.schema.createTable('meta').addColumn('key', 'text', (column) => column.primaryKey()) as Table,
    'text',
    'value',
  ).execute()
  const account = db.schema.createTable('account').addColumn('id', 'text', (column) => column.primaryKey()) as Table
  await columns(columns(account, 'text', 'name'), 'bigint', 'last_build_number created_at').execute()
  await columns(columns(owned(db, 'api_key'), 'text', 'name role hash'), 'bigint', 'created_at').execute()
  await index(db, 'api_key', 'account_id name', true)
  const agent = columns(owned(db, 'agent'), 'text', 'name hash runtimes executor? version? instance?')
  await columns(agent, 'bigint', 'epoch fact_seq last_seen_at? created_at').execute()
  await index(db, 'agent', 'account_id name', true)
}

async function resources(db: Kysely<unknown>): Promise<void> {
  const runtime = columns(owned(db, 'runtime'), 'text', 'name type agent? spec')
  await columns(columns(runtime, 'integer', 'is_default'), 'bigint', 'created_at updated_at').execute()
  await index(db, 'runtime', 'account_id name', true)
  await columns(columns(owned(db, 'project'), 'text', 'name variables'), 'bigint', 'created_at updated_at').execute()
  await index(db, 'project', 'account_id name', true)
  const pipeline = columns(owned(db, 'pipeline'), 'text', 'project_id? name document variables contexts runtime?')
  const limited = columns(pipeline, 'integer', 'concurrency? branch_concurrency? priority revision')
  await columns(limited, 'bigint', 'created_at updated_at').execute()
  await index(db, 'pipeline', 'account_id name', true)
  await index(db, 'pipeline', 'project_id')
  const context = columns(owned(db, 'context'), 'text', 'name type data')
  await columns(columns(context, 'integer', 'is_default'), 'bigint', 'created_at updated_at').execute()
  await index(db, 'context', 'account_id name', true)
}

async function builds(db: Kysely<unknown>): Promise<void> {
  const named = columns(
    owned(db, 'build'),
    'text',
    'project_id? project? pipeline_id? pipeline? status reason? message? hint? branch? revision?',
  )
  const texts = columns(named, 'text', 'runtime? initiator trigger restart_of? cancel_reason? volume?')
  const counts = columns(texts, 'integer', 'priority attempt retries losses held')
  await columns(
    counts,
    'bigint',
    'number feed_position created_at elected_at? started_at? terminating_at? finished_at?',
  ).execute()
  await index(db, 'build', 'account_id number', true)
  await index(db, 'build', 'status created_at')
  await index(db, 'build', 'pipeline_id status')
  await index(db, 'build', 'finished_at')
  const plan = db.schema.createTable('build_plan').addColumn('build_id', 'text', (column) => column.primaryKey()) as Table
  await columns(plan, 'text', 'account_id document request plan? problems? secrets?').execute()
}

async function facts(db: Kysely<unknown>): Promise<void> {
  const attempt = columns(
    db.schema.createTable('attempt') as Table,
    'text',
    'build_id account_id agent_id runtime status result? reason? message?',
  )
  const tokens = columns(
    attempt,
    'text',
    'limits bootstrap_id bootstrap_hash claim_key? token_id token_hash? waiting_reason? waiting_message? docker_host?',
  )
  await columns(
    columns(tokens, 'integer', 'number gone'),
    'bigint',
    'ack_seq seen_at? output_at? waiting_since? created_at started_at? ended_at?',
  )
    .addPrimaryKeyConstraint('attempt_pk', ['build_id', 'number'])
    .execute()
  await index(db, 'attempt', 'bootstrap_id', true)
  await index(db, 'attempt', 'token_id', true)
  await index(db, 'attempt', 'status')
  const event = columns(db.schema.createTable('event') as Table, 'text', 'build_id account_id source type data')
  await columns(columns(event, 'integer', 'attempt'), 'bigint', 'position seq at')
    .addPrimaryKeyConstraint('event_pk', ['build_id', 'position'])
    .execute()
  await index(db, 'event', 'build_id attempt source seq', true)
  const stream = columns(db.schema.createTable('stream') as Table, 'text', 'build_id stream')
  await columns(columns(stream, 'integer', 'attempt'), 'bigint', 'bytes')
    .addPrimaryKeyConstraint('stream_pk', ['build_id', 'attempt', 'stream'])
    .execute()
  const chunk = columns(db.schema.createTable('chunk') as Table, 'text', 'build_id account_id stream object')
  await columns(columns(chunk, 'integer', 'attempt'), 'bigint', 'position start bytes at object_start')
    .addPrimaryKeyConstraint('chunk_pk', ['build_id', 'position'])
    .execute()
  await index(db, 'chunk', 'build_id attempt stream start', true)
  await index(db, 'chunk', 'object')
}

async function work(db: Kysely<unknown>): Promise<void> {
  const task = columns(owned(db, 'task'), 'text', 'agent_id build_id kind status runtime payload')
  await columns(
    columns(task, 'integer', 'attempt revision failures'),
    'bigint',
    'available_at leased_until? created_at claimed_at? done_at?',
  ).execute()
  await index(db, 'task', 'agent_id status available_at')
  await index(db, 'task', 'build_id attempt')
  await index(db, 'task', 'done_at')
  const command = columns(db.schema.createTable('command') as Table, 'text', 'build_id type reason')
  await columns(columns(command, 'integer', 'id attempt'), 'bigint', 'at')
    .addPrimaryKeyConstraint('command_pk', ['build_id', 'id'])
    .execute()
  const reply = columns(db.schema.createTable('reply') as Table, 'text', 'account_id actor_id key request_hash body?')
  await columns(columns(reply, 'integer', 'status'), 'bigint', 'created_at')
    .addPrimaryKeyConstraint('reply_pk', ['account_id', 'actor_id', 'key'])
    .execute()
  await index(db, 'reply', 'created_at')
}

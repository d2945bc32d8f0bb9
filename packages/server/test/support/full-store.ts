/**
 * A database as after years of use: builds of all states, most of them ended, thousands that wait, and every limit used up. The rows are copies of
 * rows that the server wrote, made with SQL, so that a hundred thousand builds take seconds.
 */
import { AccountSettings, BuildInput, PipelineInput, RuntimeInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { putAccountSettings } from '../../src/account/settings.ts'
import { createAgent } from '../../src/agents/agents.ts'
import type { App } from '../../src/app.ts'
import { createBuild } from '../../src/builds/create/create.ts'
import { elect } from '../../src/builds/schedule/elect.ts'
import { toFullBuild } from '../../src/builds/lifecycle/view.ts'
import { putPipeline } from '../../src/pipelines/pipelines.ts'
import { putRuntime } from '../../src/runtimes/runtimes.ts'
import { findBuild } from '../../src/store/builds/builds.ts'
import type { Schema } from '../../src/store/schema/schema.ts'
import { HELLO } from './scene.ts'

export interface Size {
  readonly builds: number
  /** Number of waiting builds among them. */
  readonly waiting: number
  /** Number of pipelines, a multiple of 20. At least three builds of each are running. */
  readonly pipelines: number
}

const RUNTIMES = 20
const BRANCHES_OF_PIPELINE = 12
const BRANCHES = 500
const TRIGGERS = 3
/** Number of runtimes whose capacity is used up. The first one is the default. */
const FULL_RUNTIMES = 4
const DAY_MS = 86_400_000

/**
 * The limit of a pipeline, by its number modulo five: its own concurrency, that of its branches or triggers, only its runtime, or that it is frozen.
 */
const KINDS = ['concurrency', 'branch', 'trigger', 'runtime', 'frozen'] as const

/** Fills an empty database. No build can start until another ends (`freeOne`). Returns the ids of a waiting and of an ended build. */
export async function fillStore(app: App, size: Size): Promise<{ waiting: string; ended: string }> {
  const { pipelines } = size
  await createResources(app, pipelines)
  // Otherwise the first sweep would end the excess builds.
  await putAccountSettings(app, AccountSettings.parse({ maxQueuedBuilds: 10 * size.waiting }))
  const template = await makeTemplate(app)
  const live = liveBuilds(pipelines)
  const ended = size.builds - size.waiting - live.length
  await copyEnded(app, template, { pipelines, count: ended })
  await copyLive(app, template, { from: ended, live })
  await addApprovals(app)
  await copyWaiting(app, template, { pipelines, from: ended + live.length, count: size.waiting })
  await removeTemplate(app, template)
  await app.store.query
    .updateTable('account')
    .set({ last_build_number: size.builds + 2 })
    .execute()
  if (app.store.name === 'postgres') await sql`analyze`.execute(app.store.query)
  return { waiting: idOf(size.builds - 7), ended: idOf(Math.floor(ended / 2)) }
}

/** Ends a build that uses up the limit of a branch, so that exactly one waiting build can start. Returns false if none is left. */
export async function freeOne(app: App): Promise<boolean> {
  return app.store.write(async ({ query }) => {
    const build = await query
      .selectFrom('build')
      .innerJoin('attempt', 'attempt.build_id', 'build.id')
      .innerJoin('pipeline', 'pipeline.id', 'build.pipeline_id')
      .select('build.id')
      .where('attempt.status', '=', 'started')
      .where('pipeline.branch_concurrency', '=', 1)
      .where('attempt.runtime', '!=', `runtime-${RUNTIMES - 1}`)
      .where((where) =>
        where.exists(
          where
            .selectFrom('build as next')
            .select('next.id')
            .where('next.status', '=', 'pending')
            .whereRef('next.pipeline_id', '=', 'build.pipeline_id')
            .whereRef('next.branch', '=', 'build.branch'),
        ),
      )
      .limit(1)
      .executeTakeFirst()
    if (build === undefined) return false
    await query.updateTable('attempt').set({ status: 'ended', gone: 1 }).where('build_id', '=', build.id).execute()
    await query.updateTable('build').set({ status: 'success', finished_at: app.clock.now() }).where('id', '=', build.id).execute()
    return true
  })
}

/** Returns an id. Like ids of builds, they sort by age. */
function idOf(number: number): string {
  return `${'0'.repeat(15)}${100_000_000 + number}`
}

const pipelineName = (n: number): string => `crowd/pipeline-${n}`

async function createResources(app: App, pipelines: number): Promise<void> {
  for (const name of ['agent', 'absent']) await createAgent(app, { name, runtimes: [] })
  // The duration of a test or benchmark must not count as silence.
  await app.store.query
    .updateTable('agent')
    .set({ last_seen_at: app.clock.now() + DAY_MS, protocol: 2, instance: 'a', epoch: 1 })
    .where('name', '=', 'agent')
    .execute()
  for (let n = 0; n < RUNTIMES; n += 1) {
    const agent = n === RUNTIMES - 1 ? 'absent' : 'agent'
    const spec = { capacity: n < FULL_RUNTIMES ? 2 : 1_000 }
    const input = RuntimeInput.parse({ name: `runtime-${n}`, type: 'fake', agent, isDefault: n === 0, spec })
    await putRuntime(app, { input, changedBy: 'test', ifNoneMatch: '*' })
  }
  await putPipeline(app, { input: PipelineInput.parse({ name: pipelineName(0), document: HELLO }), precondition: {} })
  const first = await app.store.query.selectFrom('pipeline').selectAll().executeTakeFirstOrThrow()
  await app.store.query.deleteFrom('pipeline').execute()
  const rows = Array.from({ length: pipelines }, (_, n) => {
    const kind = KINDS[n % KINDS.length]
    return {
      ...first,
      id: pipelineId(n),
      name: pipelineName(n),
      concurrency: kind === 'concurrency' ? 1 : kind === 'frozen' ? 0 : null,
      branch_concurrency: kind === 'branch' ? 1 : null,
      trigger_concurrency: kind === 'trigger' ? 1 : null,
    }
  })
  await app.store.query.insertInto('pipeline').values(rows).execute()
}

function pipelineId(n: number): string {
  return `${'f'.repeat(15)}${100_000_000 + n}`
}

/** Creates a complete build, of which the others are copies. */
async function makeTemplate(app: App): Promise<string> {
  const { id } = await createBuild(app, {
    request: BuildInput.parse({ document: HELLO }),
    initiator: 'tester',
    trigger: { kind: 'manual' },
  })
  await elect(app)
  const row = await findBuild(app.store.query, app.accountId, id)
  if (row === undefined || (await toFullBuild(app, row)).attempts?.length !== 1)
    throw new Error('the template build did not start')
  return id
}

async function removeTemplate(app: App, id: string): Promise<void> {
  for (const table of ['build_plan', 'attempt', 'task', 'event'] as const)
    await app.store.query.deleteFrom(table).where('build_id', '=', id).execute()
  await app.store.query.deleteFrom('build').where('id', '=', id).execute()
}

/** Columns of the copies, as SQL expressions of the copy's number `i`. */
type Changes<T extends keyof Schema> = { readonly [column in keyof Schema[T]]?: string }

/** Creates `to - from` copies of the template row. */
async function copy<T extends 'build' | 'build_plan' | 'attempt' | 'task'>(
  app: App,
  { table, template, from, to }: { table: T; template: string; from: number; to: number },
  changes: Changes<T>,
): Promise<void> {
  if (to <= from) return
  const key = table === 'build' ? 'id' : 'build_id'
  const { rows } = await sql<object>`select * from ${sql.table(table)} where ${sql.ref(key)} = ${template}`.execute(
    app.store.query,
  )
  const columns = Object.keys(rows[0] ?? {})
  const named = new Map(Object.entries(changes as Record<string, string>))
  const values = columns.map((column) => named.get(column) ?? `t."${column}"`)
  await sql
    .raw(
      `insert into "${table}" (${columns.map((column) => `"${column}"`).join(', ')})
       with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to - 1})
       select ${values.join(', ')} from "${table}" t, n where t."${key}" = '${template}'`,
    )
    .execute(app.store.query)
}

const ID = `'${'0'.repeat(15)}' || (100000000 + i)`

/** Returns the columns of a copy that depend on its pipeline, as SQL. */
function columnsOf(pipelines: number): {
  readonly pipeline_id: string
  readonly pipeline: string
  readonly branch: string
  readonly trigger_name: string
  readonly runtime: string
} {
  const n = `(i % ${pipelines})`
  const variant = `((i / ${pipelines}) % ${BRANCHES_OF_PIPELINE})`
  const isLimitedByRuntime = `${n} % ${KINDS.length} = ${KINDS.indexOf('runtime')}`
  const full = `${n} / ${KINDS.length} % ${FULL_RUNTIMES}`
  return {
    pipeline_id: `'${'f'.repeat(15)}' || (100000000 + ${n})`,
    pipeline: `'${pipelineName(0).slice(0, -1)}' || ${n}`,
    branch: `'branch-' || ((${n} * ${BRANCHES_OF_PIPELINE} + ${variant}) % ${BRANCHES})`,
    trigger_name: `'trigger-' || (${variant} % ${TRIGGERS})`,
    runtime: `'runtime-' || (case when ${isLimitedByRuntime} then ${full} else ${FULL_RUNTIMES} + ${n} % ${RUNTIMES - FULL_RUNTIMES} end)`,
  }
}

/** Condition for builds of frozen pipelines that wait for approval and count against limits. */
const ASKS = '(i % 100 = 99)'

async function copyEnded(app: App, template: string, { pipelines, count }: { pipelines: number; count: number }): Promise<void> {
  const ofPipeline = columnsOf(pipelines)
  const all = { template, from: 0, to: count }
  // Spread over the retention period except its last day, so that no build is due for deletion.
  const at = `(t.created_at - ${(app.retention.buildDays - 10) * DAY_MS} + cast(i as bigint) * ${Math.floor(((app.retention.buildDays - 11) * DAY_MS) / count)})`
  await copy(
    app,
    { ...all, table: 'build' },
    {
      ...ofPipeline,
      id: ID,
      number: 'i + 2',
      status: `case when ${ASKS} then 'pending-approval' when i % 10 < 8 then 'success' when i % 10 = 8 then 'error' else 'terminated' end`,
      approval_counts: `case when ${ASKS} then 1 else 0 end`,
      reason: 'null',
      message: 'null',
      attempt: '1',
      created_at: at,
      queued_at: at,
      elected_at: at,
      started_at: at,
      finished_at: `case when ${ASKS} then null else ${at} + 60000 end`,
      // As after a retention run.
      logs_expired_at: `case when ${at} < t.created_at - ${app.retention.logDays * DAY_MS} then t.created_at else null end`,
    },
  )
  const key = { build_id: ID, created_at: at }
  await copy(app, { ...all, table: 'build_plan' }, { build_id: ID })
  await copy(
    app,
    { ...all, table: 'attempt' },
    {
      ...key,
      status: "'ended'",
      gone: '1',
      result: "'success'",
      bootstrap_id: ID,
      token_id: ID,
      runtime: ofPipeline.runtime,
      ended_at: `${at} + 60000`,
    },
  )
  // The rows of older builds are already deleted.
  const from = Math.floor(count * (1 - app.retention.taskDays / app.retention.buildDays))
  const task = { ...key, id: ID, status: "'done'", done_at: 't.created_at - 60000' }
  await copy(app, { ...all, from, table: 'task' }, task)
}

/** Adds approvals: open ones for builds that wait for approval, and decided ones for every tenth ended build. */
async function addApprovals(app: App): Promise<void> {
  await sql`
    insert into approval (build_id, account_id, step, final_state, attempt, seen, waiting_since, expires_at, decision, decided_at)
    select id, account_id, 'ask', 'denied', 1, 1, created_at,
      case status when 'pending-approval' then created_at + ${sql.lit(app.retention.buildDays * DAY_MS)} else created_at end,
      case status when 'pending-approval' then null else 'approved' end,
      case status when 'pending-approval' then null else created_at end
    from build where status = 'pending-approval' or number % 10 = 1`.execute(app.store.query)
}

interface Live {
  readonly pipeline: number | null
  readonly variant: number
}

/** Returns as many live builds as are needed to reach every limit. */
function liveBuilds(pipelines: number): Live[] {
  const all: Live[] = []
  for (let pipeline = 0; pipeline < pipelines; pipeline += 1) {
    const kind = KINDS[pipeline % KINDS.length]
    const count = { concurrency: 1, branch: BRANCHES_OF_PIPELINE, trigger: TRIGGERS, runtime: 0, frozen: 0 }[kind ?? 'frozen']
    for (let variant = 0; variant < count; variant += 1) all.push({ pipeline, variant })
  }
  for (let n = 0; n < FULL_RUNTIMES * 2; n += 1) all.push({ pipeline: null, variant: n % FULL_RUNTIMES })
  return all
}

async function copyLive(app: App, template: string, { from, live }: { from: number; live: readonly Live[] }): Promise<void> {
  const { query } = app.store
  const build = await query.selectFrom('build').selectAll().where('id', '=', template).executeTakeFirstOrThrow()
  const attempt = await query.selectFrom('attempt').selectAll().where('build_id', '=', template).executeTakeFirstOrThrow()
  const plan = await query.selectFrom('build_plan').selectAll().where('build_id', '=', template).executeTakeFirstOrThrow()
  const now = app.clock.now() + DAY_MS
  const rows = live.map(({ pipeline, variant }, n) => {
    const id = idOf(from + n)
    const of = { build_id: id, seen_at: now, started_at: now, active_at: now, output_at: now, steps_began_at: now }
    const runtime =
      pipeline === null ? `runtime-${variant}` : `runtime-${FULL_RUNTIMES + (pipeline % (RUNTIMES - FULL_RUNTIMES))}`
    const named = pipeline !== null && {
      pipeline_id: pipelineId(pipeline),
      pipeline: pipelineName(pipeline),
      branch: `branch-${(pipeline * BRANCHES_OF_PIPELINE + variant) % BRANCHES}`,
      trigger_name: `trigger-${variant % TRIGGERS}`,
    }
    const running = { status: 'running', started_at: now, attempt: 1, number: from + n + 2, runtime } as const
    return {
      build: { ...build, ...running, ...named, id },
      attempt: { ...attempt, ...of, status: 'started' as const, runtime, bootstrap_id: id, token_id: id },
      plan: { ...plan, build_id: id },
    }
  })
  for (let n = 0; n < rows.length; n += 100) {
    const some = rows.slice(n, n + 100)
    await query
      .insertInto('build')
      .values(some.map((row) => row.build))
      .execute()
    await query
      .insertInto('attempt')
      .values(some.map((row) => row.attempt))
      .execute()
    await query
      .insertInto('build_plan')
      .values(some.map((row) => row.plan))
      .execute()
  }
}

async function copyWaiting(
  app: App,
  template: string,
  { pipelines, from, count }: { pipelines: number; from: number; count: number },
): Promise<void> {
  const ofPipeline = columnsOf(pipelines)
  const all = { template, from, to: from + count }
  // The last pipelines represent builds of documents: without a pipeline, on the default runtime.
  const isSent = `(i % ${pipelines}) >= ${pipelines - pipelines / 20}`
  const unless = (value: string): string => `case when ${isSent} then null else ${value} end`
  await copy(
    app,
    { ...all, table: 'build' },
    {
      id: ID,
      number: 'i + 2',
      status: "'pending'",
      reason: "'queued'",
      attempt: '0',
      elected_at: 'null',
      volume: 'null',
      pipeline_id: unless(ofPipeline.pipeline_id),
      pipeline: unless(ofPipeline.pipeline),
      branch: unless(ofPipeline.branch),
      trigger_name: unless(ofPipeline.trigger_name),
      runtime: unless(ofPipeline.runtime),
      priority: '(i % 7) % 3',
    },
  )
  await copy(app, { ...all, table: 'build_plan' }, { build_id: ID })
}

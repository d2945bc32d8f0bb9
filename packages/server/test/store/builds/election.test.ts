/** Compares the election, which decides by groups of waiting builds, with a reference that decides build by build. */
import { AccountSettings, BuildInput, PipelineInput, RuntimeInput } from '@windlass/protocol'
import { REASON_NAMES, REASONS, type Reason } from '@windlass/plan'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { putAccountSettings } from '../../../src/account/settings.ts'
import { createAgent } from '../../../src/agents/agents.ts'
import type { App } from '../../../src/app.ts'
import { createBuild } from '../../../src/builds/create/create.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import type { AttemptRow, BuildPlanRow, BuildRow, Schema } from '../../../src/store/schema/schema.ts'
import { HELLO } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const PIPELINES = ['shop/one', 'shop/two', 'free'] as const
/** The first is the default; the agent of the last is offline. */
const RUNTIMES = ['wide', 'narrow', 'away'] as const
type Limit = 'concurrency' | 'branch_concurrency' | 'trigger_concurrency'

interface BuildSpec {
  readonly state: 'waiting' | 'held' | 'live' | 'asking' | 'ended'
  readonly pipeline: (typeof PIPELINES)[number] | null
  readonly runtime: (typeof RUNTIMES)[number] | 'missing' | null
  readonly branch: string | null
  readonly trigger: string | null
  readonly priority: number
}

/** Its builds are numbered 1, 2, 3 … */
interface State {
  readonly builds: readonly BuildSpec[]
  readonly limits: Readonly<Record<(typeof PIPELINES)[number], Readonly<Record<Limit, number | null>>>>
  /** Limit of the project `shop`. */
  readonly project: number | null
  readonly capacities: Readonly<Record<(typeof RUNTIMES)[number], number>>
  readonly account: { readonly concurrency?: number | undefined; readonly pauseBuilds: boolean }
  readonly hasDefault: boolean
}

const limit = fc.option(fc.integer({ min: 0, max: 3 }), { nil: null })
const limits = fc.record({ concurrency: limit, branch_concurrency: limit, trigger_concurrency: limit })
const none = { concurrency: null, branch_concurrency: null, trigger_concurrency: null }

const buildSpec: fc.Arbitrary<BuildSpec> = fc.record({
  state: fc.oneof(
    { weight: 6, arbitrary: fc.constant('waiting' as const) },
    { weight: 4, arbitrary: fc.constantFrom('held', 'live', 'asking', 'ended') },
  ),
  pipeline: fc.option(fc.constantFrom(...PIPELINES), { nil: null, freq: 6 }),
  runtime: fc.option(fc.constantFrom('wide', 'wide', ...RUNTIMES, 'missing'), { nil: null }),
  branch: fc.option(fc.constantFrom('main', 'next'), { nil: null }),
  trigger: fc.option(fc.constantFrom('push', 'cron'), { nil: null }),
  priority: fc.integer({ min: -1, max: 1 }),
})

function states({ builds, wide }: { builds: number; wide: number }): fc.Arbitrary<State> {
  return fc.record({
    builds: fc.array(buildSpec, { minLength: builds / 2, maxLength: builds }),
    limits: fc.record({ 'shop/one': limits, 'shop/two': limits, free: fc.constant(none) }),
    project: fc.option(fc.integer({ min: 0, max: 4 }), { nil: null }),
    capacities: fc.record({
      wide: fc.integer({ min: 1, max: wide }),
      narrow: fc.integer({ min: 1, max: 4 }),
      away: fc.constant(9),
    }),
    account: fc.record({
      concurrency: fc.option(fc.integer({ min: 1, max: 2 * wide }), { nil: undefined, freq: 2 }),
      pauseBuilds: fc.nat(15).map((n) => n === 0),
    }),
    hasDefault: fc.nat(5).map((n) => n > 0),
  })
}

/** The outcome for a build after the election: `elected`, or the waiting reason. */
type Decision = readonly [number: number, outcome: string]

/** The reference: decides build by build in queue order. Slow, and independent of the code of the server. */
function decideOneByOne({ builds, limits: of, project, capacities, account, hasDefault }: State): Decision[] {
  const numbered = builds.map((build, n) => ({ ...build, number: n + 1 }))
  const running: BuildSpec[] = numbered.filter(({ state }) => state === 'live').map(settle)
  const counted = (): BuildSpec[] => [...running, ...numbered.filter(({ state }) => state === 'asking')]
  function settle<T extends BuildSpec>(build: T): T {
    return { ...build, runtime: build.runtime ?? (hasDefault ? 'wide' : null) }
  }
  function reason(build: BuildSpec): string | undefined {
    const all = counted()
    const { runtime, pipeline, branch, trigger } = build
    if (account.pauseBuilds) return 'account-paused'
    if (account.concurrency !== undefined && all.length >= account.concurrency) return 'account-limit'
    if (runtime === null || runtime === 'missing') return 'runtime-missing'
    if (runtime === 'away') return 'agent-offline'
    if (running.filter((other) => other.runtime === runtime).length >= capacities[runtime]) return 'runtime-capacity'
    if (pipeline === null) return undefined
    const ofShop = all.filter((other) => other.pipeline?.startsWith('shop/') === true)
    if (project !== null && pipeline.startsWith('shop/') && ofShop.length >= project) return 'project-limit'
    const alike = all.filter((other) => other.pipeline === pipeline)
    const { concurrency, branch_concurrency: byBranch, trigger_concurrency: byTrigger } = of[pipeline]
    if (concurrency === 0) return 'pipeline-frozen'
    if (concurrency !== null && alike.length >= concurrency) return 'pipeline-limit'
    if (byBranch !== null && alike.filter((other) => other.branch === branch).length >= byBranch) return 'branch-limit'
    if (trigger === null || byTrigger === null) return undefined
    return alike.filter((other) => other.trigger === trigger).length >= byTrigger ? 'trigger-limit' : undefined
  }
  const queue = numbered
    .filter(({ state }) => state === 'waiting')
    .map(settle)
    .toSorted((a, b) => b.priority - a.priority || a.number - b.number)
  const elected = new Set<number>()
  for (const build of queue) {
    if (reason(build) !== undefined) continue
    elected.add(build.number)
    running.push(build)
  }
  return queue
    .map((build) => [build.number, elected.has(build.number) ? 'elected' : (reason(build) ?? 'none')] as const)
    .toSorted(([a], [b]) => a - b)
}

/** Rows that the server wrote; the rows of each state are copied from them. */
interface Template {
  readonly build: BuildRow
  readonly plan: BuildPlanRow
  readonly attempt: AttemptRow
}

async function openPlace(app: App): Promise<Template> {
  for (const name of ['agent', 'absent']) await createAgent(app, { name, runtimes: [] })
  await app.store.query.updateTable('agent').set({ last_seen_at: app.clock.now() }).where('name', '=', 'agent').execute()
  for (const name of RUNTIMES) {
    const agent = name === 'away' ? 'absent' : 'agent'
    const input = RuntimeInput.parse({ name, type: 'fake', agent, isDefault: name === 'wide', spec: { capacity: 1 } })
    await putRuntime(app, { input, changedBy: 'tester', ifNoneMatch: '*' })
  }
  for (const name of PIPELINES)
    await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO }), precondition: {} })
  const request = BuildInput.parse({ document: HELLO })
  const build = await createBuild(app, { request, initiator: 'tester', trigger: { kind: 'manual' } })
  await elect(app)
  const { query } = app.store
  return {
    build,
    plan: await query.selectFrom('build_plan').selectAll().executeTakeFirstOrThrow(),
    attempt: await query.selectFrom('attempt').selectAll().executeTakeFirstOrThrow(),
  }
}

const STATUSES = { waiting: 'pending', held: 'pending', live: 'running', asking: 'pending-approval', ended: 'success' } as const

async function write(app: App, template: Template, state: State): Promise<void> {
  const { query } = app.store
  for (const table of ['build', 'build_plan', 'attempt', 'task', 'event'] as const) await query.deleteFrom(table).execute()
  await putAccountSettings(app, AccountSettings.parse(state.account))
  for (const name of RUNTIMES) {
    const spec = JSON.stringify({ capacity: state.capacities[name] })
    await query
      .updateTable('runtime')
      .set({ spec, is_default: name === 'wide' && state.hasDefault ? 1 : 0 })
      .where('name', '=', name)
      .execute()
  }
  await query.updateTable('project').set({ concurrency: state.project }).where('name', '=', 'shop').execute()
  for (const name of PIPELINES) await query.updateTable('pipeline').set(state.limits[name]).where('name', '=', name).execute()
  const ids = new Map((await query.selectFrom('pipeline').select(['id', 'name']).execute()).map(({ id, name }) => [name, id]))
  const builds = state.builds.map((build, n): BuildRow => {
    const { state: what, pipeline, runtime, branch, trigger, priority } = build
    return {
      ...template.build,
      id: (n + 1).toString(16).padStart(24, '0'),
      number: n + 1,
      status: STATUSES[what],
      held: what === 'held' ? 1 : 0,
      approval_counts: what === 'asking' ? 1 : 0,
      attempt: what === 'waiting' || what === 'held' ? 0 : 1,
      pipeline_id: pipeline === null ? null : (ids.get(pipeline) ?? null),
      runtime: what === 'live' ? (runtime ?? (state.hasDefault ? 'wide' : 'none')) : runtime,
      branch,
      trigger_name: trigger,
      priority,
    }
  })
  const attempts = builds
    .filter(({ attempt }) => attempt === 1)
    .map(({ id, runtime, status }): AttemptRow => ({
      ...template.attempt,
      build_id: id,
      bootstrap_id: id,
      token_id: id,
      runtime: runtime ?? 'none',
      status: status === 'running' ? 'started' : 'ended',
    }))
  const plans = builds.map(({ id }) => ({ ...template.plan, build_id: id }))
  await insert(app, 'build', builds)
  await insert(app, 'build_plan', plans)
  await insert(app, 'attempt', attempts)
}

async function insert<T extends 'build' | 'build_plan' | 'attempt'>(app: App, table: T, rows: Schema[T][]): Promise<void> {
  for (let n = 0; n < rows.length; n += 100)
    await app.store.query
      .insertInto(table as 'build')
      .values(rows.slice(n, n + 100) as BuildRow[])
      .execute()
}

async function read(app: App): Promise<Decision[]> {
  const rows = await app.store.query
    .selectFrom('build')
    .select(['number', 'status', 'reason'])
    .where('status', 'in', ['pending', 'elected'])
    .where('held', '=', 0)
    .orderBy('number')
    .execute()
  return rows.map(({ number, status, reason }) => [number, status === 'elected' ? status : (reason ?? 'none')])
}

/** Waiting reasons that the election does not give. */
const OTHERS: readonly Reason[] = ['queued', 'start-limit', 'retry-pending', 'approval', 'fork-approval', 'debugger']

test('the reference gives every reason of the election for the generated states', () => {
  const samples = fc.sample(states({ builds: 30, wide: 8 }), { numRuns: 200, seed: 1 })
  const given = new Set(samples.flatMap(decideOneByOne).map(([, outcome]) => outcome))
  const waiting = REASON_NAMES.filter((name) => REASONS[name].blame === 'waiting' && !OTHERS.includes(name))
  expect([...given].toSorted()).toEqual([...waiting, 'elected'].toSorted())
})

describe.each(DATABASES)('the election on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test.each([
    { what: 'a few builds', size: { builds: 30, wide: 8 }, numRuns: name === 'SQLite' ? 60 : 25 },
    { what: 'more builds than one transaction takes', size: { builds: 400, wide: 200 }, numRuns: name === 'SQLite' ? 3 : 2 },
  ])('starts the same builds with the same reasons as the reference: $what', async ({ size, numRuns }) => {
    await using held = await openTestApp(database)
    const { app } = held
    const template = await openPlace(app)
    await fc.assert(
      fc.asyncProperty(states(size), async (state) => {
        await write(app, template, state)
        await Promise.all([elect(app), elect(app)])
        const decided = await read(app)
        expect(decided).toEqual(decideOneByOne(state))
        const started = decided.filter(([, outcome]) => outcome === 'elected')
        const attempts = await app.store.query.selectFrom('attempt').select('build_id').where('status', '=', 'created').execute()
        expect(attempts).toHaveLength(started.length)
      }),
      { numRuns },
    )
  })
})

/**
 * Cost of database queries of a server with 100,000 stored builds, of which 10,000 wait, on SQLite and on PostgreSQL. Lists are requested over HTTP
 * as users do; elections and sweeps are called as the loops call them.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstAdmin } from '../../../e2e/support/first-admin.ts'
import { startPostgres } from '../../../e2e/support/postgres.ts'
import { elect } from '../../../packages/server/src/builds/schedule/elect.ts'
import { sweep } from '../../../packages/server/src/builds/lifecycle/ends/sweep.ts'
import { openHttp } from '../../../packages/server/src/http/http-server.ts'
import { allRoutes } from '../../../packages/server/src/http/routes.ts'
import { openAuthenticator } from '../../../packages/server/src/identity/authenticate.ts'
import { prepareBootstrap } from '../../../packages/server/src/identity/sessions/bootstrap-code.ts'
import { openApp } from '../../../packages/server/src/open-app.ts'
import { retain } from '../../../packages/server/src/retention.ts'
import { findBuild } from '../../../packages/server/src/store/builds/builds.ts'
import { fillStore, freeOne } from '../../../packages/server/test/support/full-store.ts'
import type { App } from '../../../packages/server/src/app.ts'
import { nodeTransport } from '@windlass/kit'
import { openClient, pathOf, ROUTES, type ApiClient } from '@windlass/client'
import type { CallOptions } from '@windlass/protocol'
import { sample, single, type Line, type Row, type Spread } from '../../row.ts'

const SIZE = { builds: 100_000, waiting: 10_000, pipelines: 200 }
const SAMPLES = 30
const WARM_UP = 3
const GOAL_MS = 50

export const manyBuilds: Line = { name: 'many-builds', measure }

async function measure(): Promise<Row[]> {
  const rows = await measureOn('sqlite')
  await using postgres = await startPostgres()
  return [...rows, ...(await measureOn('postgres', postgres.url))]
}

type Query = CallOptions['query']

interface Opened extends AsyncDisposable {
  readonly app: App
  readonly client: ApiClient
}

async function open(databaseUrl: string | undefined): Promise<Opened> {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  // Retention lasts as long as the rows are old. The loops are disabled, because the line calls what they call.
  const options = { dataDir, databaseUrl, minFreeShare: 0, startsLoops: false }
  const opened = await openApp(options, () => 'http://127.0.0.1')
  const { app } = opened
  await prepareBootstrap(app)
  const authenticator = openAuthenticator(app.store.query, app.vault)
  const http = openHttp(app, { tls: undefined, authenticator, routes: allRoutes(app, authenticator) })
  const bare = openClient({ url: await http.listen({ host: '127.0.0.1', port: 0 }), transport: nodeTransport() })
  const { token } = await bare.server.bootstrap(await firstAdmin(dataDir))
  return {
    app,
    client: bare.withToken(token),
    async [Symbol.asyncDispose]() {
      opened.stop()
      await http.close()
      await opened.close()
      await rm(dataDir, { recursive: true })
    },
  }
}

async function measureOn(name: string, databaseUrl?: string): Promise<Row[]> {
  await using opened = await open(databaseUrl)
  const { app, client } = opened
  const filledAt = performance.now()
  const ids = await fillStore(app, SIZE)
  console.error(
    `many-builds: ${SIZE.builds} builds written to ${name} in ${((performance.now() - filledAt) / 1000).toFixed(1)} s`,
  )
  const explain = await timeOnce(() => elect(app))
  const row = floorRow(app, name, ids.ended)
  // Without the validation of the response, which runs in this process.
  const get = (path: string, query?: Query) => (): Promise<unknown> => client.text('GET', path, { query })
  const [runtimes, list] = [pathOf(ROUTES.runtimes.list), pathOf(ROUTES.builds.list)]
  const builds = (query: Query) => get(list, { limit: 50, ...query })
  const { created_at: middle = 0 } = (await findBuild(app.store.query, app.accountId, ids.ended)) ?? {}
  const span = { from: middle, to: middle + 3_600_000 }
  const show = (id: string) => get(pathOf(ROUTES.builds.get, id))
  const rows: Row[] = [
    await row('elect-first', 'the first pass: every waiting build gets its reason', single(explain), { goal: false }),
    await row('elect-idle', 'a pass in which nothing can start', () => elect(app)),
    await row('elect-one', 'a pass that starts the one build that fits', electOne(app)),
    await row('sweep', 'one sweep over all live builds and attempts', () => sweep(app, true)),
    await row('retain', 'one pass of retention with nothing due', () => retain(app)),
    await row('runtimes', `GET ${runtimes}`, get(runtimes)),
    await row('list', `GET ${list}, first page`, builds({})),
    await row('list-deep', `GET ${list}, a page in the middle`, builds({ cursor: SIZE.builds / 2 })),
    await row('list-pipeline', 'the builds of a pipeline', builds({ pipeline: 'crowd/pipeline-3' })),
    await row('list-unknown', 'the builds of an unknown pipeline', builds({ pipeline: 'crowd/none' })),
    await row('list-branch', 'the builds of a branch', builds({ branch: 'branch-17' })),
    await row('list-no-branch', 'the builds of an unknown branch', builds({ branch: 'none' })),
    await row('list-status', 'the failed and terminated builds', builds({ status: 'error,terminated' })),
    await row('list-running', 'the running builds', builds({ status: 'running' })),
    await row('list-waiting', 'the failed builds of a pipeline', builds({ pipeline: 'crowd/pipeline-8', status: 'error' })),
    await row(
      'list-both',
      'the builds of a branch of a pipeline',
      builds({ pipeline: 'crowd/pipeline-8', branch: 'branch-100' }),
    ),
    await row('list-queued', 'the waiting builds, with holders and places', builds({ status: 'pending' })),
    await row('list-text', 'a page of a search for a text that no build has', builds({ q: 'no such text' })),
    await row('list-initiator', 'a page of the builds of an unknown initiator', builds({ initiator: 'nobody' })),
    await row('list-commit', 'the builds of an unknown commit', builds({ revision: 'abcdef12' })),
    await row('list-times', 'the builds of a time span', builds({ from: span.from, to: span.to })),
    await row('counts-status', 'the number of builds by status', get(pathOf(ROUTES.builds.counts), { by: 'status' })),
    await row('counts-pipeline', 'the number of builds by pipeline', get(pathOf(ROUTES.builds.counts), { by: 'pipeline' })),
    await row('queue', 'the queue by cause', get(pathOf(ROUTES.builds.queue))),
    await row('approvals', 'the open approvals', get(pathOf(ROUTES.builds.approvals))),
    await row('approvals-decided', 'the decided approvals', get(pathOf(ROUTES.builds.approvals), { state: 'decided' })),
    await row('search-name', 'a search for names', get(pathOf(ROUTES.builds.search), { q: 'pipeline-19' })),
    await row('search-commit', 'a search for a commit', get(pathOf(ROUTES.builds.search), { q: 'abcdef12' })),
    await row('related', 'the builds that belong to a build', get(pathOf(ROUTES.builds.related, ids.ended))),
    await row('show-waiting', `GET ${list}/ID of a waiting build, with its reason`, show(ids.waiting)),
    await row('show-ended', `GET ${list}/ID of an ended build`, show(ids.ended)),
    await row('metrics', 'GET /metrics without a cached result', () => app.metricsPage(), { pauseMs: 1_001 }),
  ]
  return rows
}

/** Creates rows whose floor is measured right before each. */
function floorRow(app: App, store: string, id: string) {
  return async (
    what: string,
    figure: string,
    work: Spread | ((round: number) => Promise<unknown>),
    { goal = true, pauseMs }: { goal?: boolean; pauseMs?: number } = {},
  ): Promise<Row> => {
    const floor = await sample(SAMPLES, WARM_UP, async () => void (await findBuild(app.store.query, app.accountId, id)))
    const value =
      typeof work === 'function'
        ? await sample(pauseMs === undefined ? SAMPLES : 5, pauseMs === undefined ? WARM_UP : 1, async (round) => {
            if (pauseMs !== undefined) await new Promise((done) => setTimeout(done, pauseMs))
            return timeOnce(() => work(round))
          })
        : work
    return {
      name: `${what}-${store}`,
      figure: `${figure}; ${SIZE.builds} builds, ${SIZE.waiting} of them waiting`,
      unit: 'ms',
      value,
      warmUp: typeof work === 'function' ? WARM_UP : 0,
      floor: { what: 'one build by its id', value: floor },
      ...(goal && { goal: GOAL_MS }),
    }
  }
}

/** Ends a build (not measured), then runs the pass. Throws if the pass did not start exactly one build. */
function electOne(app: App): () => Promise<number> {
  const count = async (): Promise<number> =>
    (await app.store.query.selectFrom('attempt').select('build_id').where('status', '=', 'created').execute()).length
  return async () => {
    if (!(await freeOne(app))) throw new Error('no build is left that could end')
    const before = await count()
    const took = await timeOnce(() => elect(app))
    if ((await count()) !== before + 1) throw new Error('not exactly one build was started')
    return took
  }
}

async function timeOnce(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  const own = await work()
  return typeof own === 'number' ? own : performance.now() - startedAt
}

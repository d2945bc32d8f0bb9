/** Lists of 2,000 reported applications over HTTP, and how long the full state of a runtime takes, on SQLite and on PostgreSQL. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClient, pathOf, ROUTES } from '@windlass/client'
import { nodeTransport } from '@windlass/kit'
import { MAX_PAYLOADS } from '@windlass/protocol'
import { firstAdmin } from '../../../e2e/support/first-admin.ts'
import { startPostgres } from '../../../e2e/support/postgres.ts'
import { startServer } from '../../../packages/server/src/index.ts'
import { argoApplication, event, report } from '../../../packages/server/test/support/fakes/application-reporter.ts'
import { sample, single, type Line, type Row } from '../../row.ts'

const APPLICATIONS = 2_000
/** Resources of each application. */
const RESOURCES = 30
const PAGE = 100
const SAMPLES = 30
const WARM_UP = 3
const GOAL_MS = 300

export const gitopsApplications: Line = { name: 'gitops-applications', measure }

async function measure(): Promise<Row[]> {
  const rows = await measureOn('sqlite')
  await using postgres = await startPostgres()
  return [...rows, ...(await measureOn('postgres', postgres.url))]
}

async function measureOn(name: string, databaseUrl?: string): Promise<Row[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'windlass-bench-'))
  const server = await startServer({ dataDir, databaseUrl, minFreeShare: 0 })
  try {
    const bare = openClient({ url: server.url, transport: nodeTransport() })
    const client = bare.withToken((await bare.server.bootstrap(await firstAdmin(dataDir))).token)
    await client.gitopsRuntimes.createToken('prod')
    const full = await sendFullState(server.app)
    // Without the validation of the response, which runs in this process.
    const list = (query: Readonly<Record<string, string | number>>) => (): Promise<void> =>
      client.text('GET', pathOf(ROUTES.applications.list), { query: { limit: PAGE, ...query } }).then(() => undefined)
    const floor = await sample(SAMPLES, WARM_UP, list({ limit: 1 }))
    const row = async (what: string, figure: string, query: Readonly<Record<string, string>>): Promise<Row> => ({
      name: `gitops-applications-${what}-${name}`,
      figure: `${figure}; ${APPLICATIONS} applications`,
      unit: 'ms',
      value: await sample(SAMPLES, WARM_UP, list(query)),
      warmUp: WARM_UP,
      floor: { what: 'a page of one application', value: floor },
      goal: GOAL_MS,
    })
    return [
      {
        name: `gitops-applications-full-${name}`,
        figure: `${APPLICATIONS} applications with ${RESOURCES} resources each are reported for the first time`,
        unit: 's',
        value: single(full),
        warmUp: 0,
      },
      await row('page', `a page of ${PAGE} applications by name`, {}),
      await row('worst', `a page of ${PAGE} applications, the worst first`, { sort: 'health' }),
      await row('text', 'the applications with a text in their name', { q: 'app-1999' }),
    ]
  } finally {
    await server.close()
    await rm(dataDir, { recursive: true })
  }
}

/** Reports all applications in chunks. Returns the seconds that it took. */
async function sendFullState(app: Parameters<typeof report>[0]): Promise<number> {
  const startedAt = performance.now()
  const now = Date.now()
  const chunks = APPLICATIONS / MAX_PAYLOADS
  for (let chunk = 1; chunk <= chunks; chunk += 1) {
    const data = Array.from({ length: MAX_PAYLOADS }, (_, n) => event(toObject((chunk - 1) * MAX_PAYLOADS + n), now))
    await report(app, { data, fullState: { id: 'full state', startedAt: now, chunk, isLast: chunk === chunks } })
  }
  return (performance.now() - startedAt) / 1_000
}

function toObject(n: number): object {
  const resources = Array.from({ length: RESOURCES }, (_, index) => ({
    group: 'apps',
    kind: 'Deployment',
    namespace: 'shop',
    name: `part-${index}`,
    status: index === 0 && n % 3 === 0 ? 'OutOfSync' : 'Synced',
    health: { status: index === 1 && n % 5 === 0 ? 'Degraded' : 'Healthy', message: 'Deployment has minimum availability.' },
  }))
  const health = n % 5 === 0 ? 'Degraded' : 'Healthy'
  return argoApplication(`app-${n}`, { health, sync: n % 3 === 0 ? 'OutOfSync' : 'Synced', status: { resources } })
}

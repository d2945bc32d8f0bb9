/** The reporter of a GitOps runtime as a process, on a real API server with 2,000 applications: the time until all are shown, and its memory before and in an outage. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { listAll } from '@windlass/client'
import type { Application } from '@windlass/protocol'
import { startCluster } from '../../../e2e/support/cluster.ts'
import { eventually } from '../../../e2e/support/eventually.ts'
import { startService } from '../../../e2e/support/process.ts'
import { WINDLASS } from '../../../e2e/support/programs.ts'
import { stopServingReportedKinds } from '../../../packages/reporter/test/support/argo-crds.ts'
import { openReporterScene, type ReporterScene } from '../../../packages/reporter/test/support/reporter-scene.ts'
import { single, type Line, type Row } from '../../row.ts'
import { requireCluster } from '../../stack/cluster.ts'

const APPLICATIONS = 2_000
const RESOURCES = 30
/** Changes of each application while the server does not answer. */
const ROUNDS = 3
const AT_ONCE = 20
const SETTLE_MS = 5_000

export const gitopsReporter: Line = { name: 'gitops-reporter', measure }

async function measure(): Promise<Row[]> {
  await requireCluster()
  try {
    return await measureReporter()
  } finally {
    // The scene has removed its objects.
    await stopServingReportedKinds(await startCluster())
  }
}

async function measureReporter(): Promise<Row[]> {
  await using scene = await openReporterScene(`bench-reporter-${process.pid}`)
  const names = Array.from({ length: APPLICATIONS }, (_, n) => `app-${n}`)
  await eachOf(names, (name) => scene.create(name, { status: statusOf('Healthy') }))
  const startedAt = performance.now()
  const service = await startReporterProcess(scene)
  try {
    await eventually('all applications are shown', async () => (await countShown(scene, 'healthy')) === APPLICATIONS || undefined)
    const all = (performance.now() - startedAt) / 1_000
    await sleep(SETTLE_MS)
    const before = residentMib(service.pid)
    scene.line.fail(Number.MAX_SAFE_INTEGER, 503)
    let highest = before
    for (let round = 1; round <= ROUNDS; round += 1) {
      await eachOf(names, (name) => scene.change(name, statusOf(round === ROUNDS ? 'Degraded' : `Round${round}`)))
      highest = Math.max(highest, residentMib(service.pid))
    }
    const repairedAt = performance.now()
    scene.line.fail(0, 500)
    await eventually('all changes are shown', async () => (await countShown(scene, 'degraded')) === APPLICATIONS || undefined)
    const caughtUp = (performance.now() - repairedAt) / 1_000
    return [
      row('all', `start of a reporter -> all of ${APPLICATIONS} applications are shown`, 's', all),
      row('memory', `memory of a reporter with ${APPLICATIONS} applications`, 'MiB', before),
      {
        ...row(
          'outage',
          `highest memory while the server is away and each of ${APPLICATIONS} applications changes ${ROUNDS} times`,
          'MiB',
          highest,
        ),
        floor: { what: 'the memory before', value: single(before) },
        goalRatio: 1.5,
      },
      row('back', 'the server answers again -> all changes are shown', 's', caughtUp),
    ]
  } finally {
    await service.stop()
  }
}

function row(name: string, figure: string, unit: Row['unit'], value: number): Row {
  return { name: `gitops-reporter-${name}`, figure, unit, value: single(value), warmUp: 0 }
}

async function startReporterProcess({ line, tokenFile, namespace, cluster }: ReporterScene) {
  const words = `gitops report --server-url ${line.url} --token-file ${tokenFile} --namespaces ${namespace}`
  return startService({
    command: WINDLASS,
    args: `${words} --kubeconfig ${cluster.kubeconfig}`.split(' '),
    ready: (log) => log.includes('reporter started'),
  })
}

async function eachOf(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  for (let at = 0; at < names.length; at += AT_ONCE) await Promise.all(names.slice(at, at + AT_ONCE).map((name) => work(name)))
}

async function countShown({ http }: ReporterScene, health: Application['health']): Promise<number> {
  const list = http.admin.applications.list
  return (await listAll(({ query }) => list({ query: { ...query, health, limit: 500 } }))).length
}

function statusOf(health: string): object {
  const resources = Array.from({ length: RESOURCES }, (_, n) => ({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    namespace: 'shop',
    name: `part-${n}`,
    status: 'Synced',
    health: { status: 'Healthy', message: 'Deployment has minimum availability.' },
  }))
  return { health: { status: health }, resources }
}

function residentMib(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(line) / 1_024
}

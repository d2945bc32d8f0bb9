/**
 * One chaos run: real servers and a real agent as processes, fake engines in place of pods, a load of builds, and kills at seeded
 * moments until the load is done. Answers what happened and which promises were broken.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFakeCluster, type FakeScript } from '@windlass/agent/fake'
import { nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import { createClient, type Client } from '@windlass/protocol'
import { openHttpProxy, type Call, type Verdict } from '../faults/http-proxy.ts'
import { seededRandom, type Random } from '../faults/random.ts'
import { openTcpProxy, type NetworkFaults } from '../faults/tcp-proxy.ts'
import type { History, Limits, Violation } from '../history/history.ts'
import { checkInvariants } from '../history/invariants.ts'
import { collectBuild, listBuilds } from './collect.ts'
import { runKills, type KillPlan } from './kills.ts'
import { runLoad, SECRET } from './load.ts'
import { openRecorder } from './recorder.ts'
import { openClusterDoor } from './remote-cluster.ts'
import { openRequests } from './requests.ts'
import { startAgentProcess, startServers } from './stage.ts'
import { prepare } from './prepare.ts'

export interface ChaosPlan {
  readonly seed: number
  readonly builds: number
  /** Spreads the triggers over about this time, milliseconds. */
  readonly loadMs?: number
  /** Two replicas and more need PostgreSQL. */
  readonly replicas: number
  readonly databaseUrl?: string
  readonly script?: Partial<FakeScript>
  readonly kills?: KillPlan
  /** Between agent, engines, driver and the servers, while the load runs. */
  readonly network?: NetworkFaults
  readonly http?: (call: Call, random: Random) => Verdict
  readonly cancelReachMs?: number
  /** What a cancelled build may still do: share of builds that are cancelled. */
  readonly cancelShare?: number
  /** Share of builds that wait for approval somewhere. */
  readonly approvalShare?: number
  /** Reads whatever else may hold a secret, such as a dump of the database. */
  readonly dump?: () => Promise<string>
}

export interface ChaosResult {
  readonly history: History
  readonly violations: readonly Violation[]
  /** Processes that ended without being killed. */
  readonly crashes: readonly string[]
  /** What really happened: kills that hit, requests cut, builds by final state. */
  readonly landed: Readonly<Record<string, number>>
  readonly seconds: number
}

const SETTLE_MS = 90_000
const DEFAULT_SCRIPT = {
  stepMs: [5, 120],
  startMs: [0, 60],
  logBytes: [0, 12_000],
  frameBytes: 4_096,
  failChance: 0.08,
  stopMs: 5,
} as const
const CALM_HTTP = (): Verdict => ({ kind: 'pass' })

/** Runs it. Everything it starts is gone when it answers; the folder is kept (and named) only when a promise was broken. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const startedAt = clock.now()
  const folder = await mkdtemp(join(tmpdir(), 'windlass-chaos-'))
  await using stack = new AsyncDisposableStack()
  const random = seededRandom(plan.seed)
  const recorder = openRecorder()
  const cluster = openFakeCluster({
    transport: recorder.watch(nodeTransport({ maxSockets: 512 })),
    clock,
    log: silentLog,
    script: { ...DEFAULT_SCRIPT, ...plan.script, seed: plan.seed },
    observe: (observation) => recorder.observe(observation),
  })
  stack.defer(() => cluster.close())
  const door = stack.use(await openClusterDoor(cluster))
  const network = stack.use(await openTcpProxy({ targets: () => ports, random: random.fork('network') }))
  const weather = { http: CALM_HTTP as (call: Call, random: Random) => Verdict }
  const httpRandom = random.fork('http')
  const http = stack.use(await openHttpProxy({ target: () => network, decide: (call) => weather.http(call, httpRandom) }))
  const shown = `http://127.0.0.1:${http.port}`
  const servers = await startServers({ ...plan, folder, advertisedUrl: shown })
  stack.defer(async () => void (await Promise.all(servers.map((server) => server.child.kill()))))
  const ports = servers.map(({ port }) => port)
  const calmBalancer = stack.use(await openTcpProxy({ targets: () => ports, random }))
  const calm = createClient({ url: `http://127.0.0.1:${calmBalancer.port}`, transport: nodeTransport() })
  const stage = await prepare(calm)
  const agent = await startAgentProcess({ server: shown, token: stage.agentToken, cluster: door.url, folder })
  stack.defer(async () => void (await agent.kill()))

  const admin = calm.withToken(stage.adminToken)
  const client = createClient({ url: shown, transport: nodeTransport(), token: stage.adminToken })
  const requests = openRequests({ client, clock, settleMs: 60_000 })
  if (plan.network !== undefined) network.faults = plan.network
  weather.http = plan.http ?? CALM_HTTP
  const calmDown = new AbortController()
  const over = new AbortController()
  const sightings: History['sightings'][number][] = []
  const watching = watchBuilds(admin, sightings, over.signal)
  const killing = runKills({
    plan: plan.kills,
    random: random.fork('kills'),
    servers: servers.map(({ child }) => child),
    agent,
    cluster,
    recorder,
    signal: calmDown.signal,
  })
  const { decided } = await runLoad({ plan, random: random.fork('load'), requests, pipelines: stage.pipelines })
  // Then the killing stops: what is promised is that everything ends once it is left alone.
  calmDown.abort()
  const kills = await killing
  await decided
  await settle(admin, { untilAt: clock.now() + SETTLE_MS })
  over.abort()
  await watching
  network.faults = { ...network.faults, drop: 0, delay: 0, stall: 0 }
  weather.http = CALM_HTTP
  const leftovers = await remains(() => door.attempts())
  const builds = await collectAll(admin)
  const history: History = {
    seed: plan.seed,
    startedAt,
    endedAt: clock.now(),
    limits: stage.limits satisfies Limits,
    cancelReachMs: plan.cancelReachMs ?? 1_000,
    secrets: [SECRET],
    operations: requests.operations,
    engines: recorder.traces({ ...FULL_SCRIPT, ...plan.script, seed: plan.seed }),
    builds,
    sightings,
    leftovers,
    texts: await readTexts(plan, folder),
  }
  const violations = checkInvariants(history)
  const crashes = [...servers.map(({ child }) => child), agent].flatMap((child) => child.crashes)
  const landed = {
    ...kills,
    ...countBuilds(history),
    ...countFaults(network.counts, http.counts),
    retriedRequests: requests.retries,
  }
  if (violations.length === 0 && crashes.length === 0) await rm(folder, { recursive: true })
  else await keep(history, folder)
  return { history, violations, crashes, landed, seconds: Math.round((clock.now() - startedAt) / 100) / 10 }
}

const FULL_SCRIPT: FakeScript = { crashChance: {}, silentChance: 0, ...DEFAULT_SCRIPT, seed: 0 }

/** Leaves what is needed to find the cause; texts are files of the folder anyway. */
async function keep(history: History, folder: string): Promise<void> {
  await writeFile(join(folder, 'history.json'), JSON.stringify({ ...history, texts: [] }, undefined, 1))
  console.log(`the data of this run is kept in ${folder}`)
}

/** Looks at all builds a few times a second; a look that fails (the server is dead) is no sighting. */
async function watchBuilds(client: Client, sightings: History['sightings'][number][], signal: AbortSignal): Promise<void> {
  const last = new Map<string, string>()
  while (!signal.aborted) {
    const at = clock.now()
    const builds = await listBuilds(client, 3_000).catch(() => [])
    for (const { id, status, reason } of builds) {
      const state = `${status} ${reason}`
      const isQuiet = last.get(id) === state && isFinalBuild(status)
      last.set(id, state)
      if (!isQuiet) sightings.push({ at, buildId: id, status, ...(reason !== undefined && { reason }) })
    }
    await clock.sleep(250, signal).catch(() => undefined)
  }
}

/** Waits until every build is final; gives up quietly, for the checker to say which are not. */
async function settle(client: Client, { untilAt }: { untilAt: number }): Promise<void> {
  while (clock.now() < untilAt) {
    const builds = await listBuilds(client).catch(() => undefined)
    if (builds !== undefined && builds.every(({ status }) => isFinalBuild(status))) return
    await clock.sleep(200)
  }
}

/** What is left after the time that removal may take. */
async function remains(attempts: () => Promise<readonly { buildId: string; attempt: number }[]>): Promise<History['leftovers']> {
  const until = clock.now() + 30_000
  let left = await attempts()
  while (left.length > 0 && clock.now() < until) {
    await clock.sleep(200)
    left = await attempts()
  }
  return left.map(({ buildId, attempt }) => ({ buildId, object: `fake engine of attempt ${attempt}` }))
}

async function collectAll(client: Client): Promise<History['builds']> {
  const all = await listBuilds(client)
  const records: History['builds'][number][] = []
  const queue = [...all]
  const worker = async (): Promise<void> => {
    for (let build = queue.pop(); build !== undefined; build = queue.pop()) records.push(await collectBuild(client, build.id))
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return records
}

async function readTexts(plan: ChaosPlan, folder: string): Promise<History['texts']> {
  const files = plan.databaseUrl === undefined ? ['server-0/windlass.db', 'server-0/windlass.db-wal'] : []
  const logs = [...Array.from({ length: plan.replicas }, (_, n) => `server-${n}.log`), 'agent.log']
  const texts = await Promise.all(
    [...files, ...logs].map(async (name) => ({
      where: name,
      text: await readFile(join(folder, name), 'latin1').catch(() => ''),
    })),
  )
  return plan.dump === undefined ? texts : [...texts, { where: 'a dump of the database', text: await plan.dump() }]
}

function countBuilds(history: History): Record<string, number> {
  const counts: Record<string, number> = { builds: history.builds.length, attempts: history.engines.length }
  for (const { status } of history.builds) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function countFaults(network: Record<string, number>, http: Record<string, number>): Record<string, number> {
  return {
    drops: network['drops'] ?? 0,
    delays: network['delays'] ?? 0,
    stalls: network['stalls'] ?? 0,
    lost: http['lose'] ?? 0,
    cutReplies: http['cut-reply'] ?? 0,
    repeated: http['repeat'] ?? 0,
  }
}

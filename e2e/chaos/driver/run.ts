/**
 * One chaos run: real servers and a real agent as processes, fake engines instead of pods, a load of builds, and kills at seeded moments until the
 * load is done. Returns what happened and the violations.
 */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defined, nodeTransport, silentLog, systemClock as clock } from '@windlass/kit'
import { openClient, type ApiClient } from '@windlass/client'
import type { Timings } from '@windlass/server'
import { firstAdmin } from '../../support/first-admin.ts'
import { openFakeCluster, type FakeCluster, type FakeScript } from '../../support/fake-engines/index.ts'
import { openHttpProxy, type Call, type Verdict } from '../faults/http-proxy.ts'
import { seededRandom, type Random } from '../faults/random.ts'
import { openTcpProxy, type NetworkFaults } from '../faults/tcp-proxy.ts'
import { countUnharmed } from '../history/check-progress.ts'
import type { Harm, History, Limits, Violation } from '../history/history.ts'
import { checkInvariants } from '../history/invariants.ts'
import type { Child } from '../processes/child.ts'
import { collectBuild, listBuilds, ONCE_MS, readTexts } from './collect.ts'
import { noKills, runKills, superviseCalm, type KillPlan, type Mortal } from './kills.ts'
import { isUnharmedAlone, runLoad, SECRETS } from './load.ts'
import { runOutages, type OutagePlan } from './outages.ts'
import { prepare } from './prepare.ts'
import { openRecorder } from './recorder.ts'
import { openClusterDoor, type ClusterDoor } from './remote-cluster.ts'
import { openRequests } from './requests.ts'
import { watchRetention, withoutBuilds, type RetentionLimits } from './retention.ts'
import { remains, settle, watchBuilds, watchPauses, type Watch } from './settle.ts'
import { runUpgrades, type UpgradePlan } from './upgrades.ts'
import { dataDirOf, FAST, startAgentProcess, startServers, type Apart } from './stage.ts'
import { memoryFolder } from '../../support/memory-folder.ts'

export interface ChaosPlan {
  readonly seed: number
  readonly builds: number
  /** Spreads the triggers over about this time. Milliseconds. */
  readonly loadMs?: number
  /** Two or more replicas need PostgreSQL. */
  readonly replicas: number
  /** Number of agents, each with its own runtime and cluster. Default 1. */
  readonly agents?: number
  /** Longest time until the first call of an engine. Milliseconds. */
  readonly electedMs?: number
  /** How far the clock of each server is ahead. Milliseconds. */
  readonly skewMs?: readonly number[]
  readonly databaseUrl?: string
  /** Servers on machines of their own. Default: they share a data folder. */
  readonly apart?: Apart
  readonly script?: Partial<FakeScript>
  readonly kills?: KillPlan
  readonly outages?: OutagePlan
  readonly upgrades?: UpgradePlan
  /** Network between agent, engines, driver and the servers while the load runs. */
  readonly network?: NetworkFaults
  readonly http?: (call: Call, random: Random) => Verdict
  /** Periods of the servers. Default `FAST`. */
  readonly timings?: Partial<Timings>
  /** Ages from which logs and builds are deleted during the run. */
  readonly retention?: RetentionLimits
  /** How often each kind of fault must take effect. The load continues until then, up to four times the builds. */
  readonly least?: Readonly<Record<string, number>>
  /** Share of builds that are canceled. */
  readonly cancelShare?: number
  /** Share of builds that wait for an approval. */
  readonly approvalShare?: number
  /** Share of builds that steps of another build start with their key. Default 0. */
  readonly childShare?: number
  /** Reads further texts that may contain a secret, such as a dump of the database. */
  readonly dump?: () => Promise<string>
}

export interface ChaosResult {
  readonly history: History
  readonly violations: readonly Violation[]
  /** Processes that exited without being killed. */
  readonly crashes: readonly string[]
  /** Counters of the run: effective kills, cut requests, builds by final state. */
  readonly landed: Readonly<Record<string, number>>
  readonly seconds: number
}

const DEFAULT_SCRIPT = {
  stepMs: [5, 120],
  startMs: [0, 60],
  logBytes: [0, 12_000],
  pieceBytes: 4_096,
  failChance: 0.08,
  stopMs: 5,
} as const
const CALM_HTTP = (): Verdict => ({ kind: 'pass' })

/** Runs it. Releases all resources before it returns. The folder is kept, and its path printed, only after a violation. */
export async function runChaos(plan: ChaosPlan): Promise<ChaosResult> {
  const startedAt = clock.now()
  const folder = await memoryFolder('windlass-chaos-')
  await using stack = new AsyncDisposableStack()
  const random = seededRandom(plan.seed)
  const recorder = openRecorder()
  const transport = recorder.watch(nodeTransport({ maxSockets: 512 }))
  const script: FakeScript = { ...FULL_SCRIPT, ...plan.script, seed: plan.seed }
  const clusters = Array.from({ length: plan.agents ?? 1 }, () =>
    openFakeCluster({ transport, clock, log: silentLog, script, observe: recorder.observe }),
  )
  stack.defer(async () => void (await Promise.all(clusters.map((cluster) => cluster.close()))))
  const doors: ClusterDoor[] = []
  for (const cluster of clusters) doors.push(stack.use(await openClusterDoor(cluster)))
  const network = stack.use(await openTcpProxy({ targets: () => ports, random: random.fork('network') }))
  const weather = { http: CALM_HTTP as (call: Call, random: Random) => Verdict }
  const httpRandom = random.fork('http')
  const decide = (call: Call): Verdict => weather.http(call, httpRandom)
  // It reads every call of the run, so a run without its faults does without it.
  const http = plan.http === undefined ? undefined : stack.use(await openHttpProxy({ target: () => network, decide }))
  const shown = `http://127.0.0.1:${(http ?? network).port}`
  const servers = await startServers({ ...plan, folder, advertisedUrl: shown, ...defined({ program: plan.upgrades?.from }) })
  stack.defer(async () => void (await Promise.all(servers.map((server) => server.child.kill()))))
  const ports = servers.map(({ port }) => port)
  const calmBalancer = stack.use(await openTcpProxy({ targets: () => ports, random }))
  const calm = openClient({ url: `http://127.0.0.1:${calmBalancer.port}`, transport: nodeTransport() })
  const { code } = plan.apart === undefined ? await firstAdmin(dataDirOf(folder)) : { code: plan.apart.bootstrapCode ?? '' }
  const stage = await prepare(calm, code, plan)
  const agents: Child[] = []
  for (const [n, token] of stage.agentTokens.entries()) {
    const cluster = doors[n]?.url ?? ''
    agents.push(await startAgentProcess({ server: shown, token, cluster, folder, name: n === 0 ? 'agent' : `agent-${n}` }))
  }
  stack.defer(async () => void (await Promise.all(agents.map((agent) => agent.kill()))))

  const admin = calm.withToken(stage.adminToken)
  const client = openClient({ url: shown, transport: nodeTransport(), token: stage.adminToken })
  const giveUp = new AbortController()
  const requests = openRequests({ client, clock, settleMs: 300_000, giveUp: giveUp.signal })
  if (plan.network !== undefined) network.faults = plan.network
  weather.http = plan.http ?? CALM_HTTP
  const calmDown = new AbortController()
  const over = new AbortController()
  const watch: Watch = { sightings: [], looks: [], builds: [] }
  const watching = watchBuilds(admin, watch, over.signal)
  const retained = plan.retention && watchRetention(admin, plan.retention, over.signal)
  const kills = noKills()
  const { deadMs = 45_000 } = plan.timings ?? FAST
  const down = new Set<Mortal>()
  const harms: Harm[] = []
  const outages: Record<string, number> = {}
  const pauses = watchPauses(harms, { deadMs, signal: over.signal })
  const processes = { servers: servers.map(({ child }) => child), agents, down }
  const cluster = {
    running: () => clusters.flatMap((each) => each.running()),
    kill: (...args: Parameters<FakeCluster['kill']>) => clusters.some((each) => each.kill(...args)),
  }
  const { signal } = calmDown
  // On a busy machine a kill harms every build of several seconds: kills that are no longer needed would keep the run from its unharmed builds.
  let isOnlyUnharmedMissing = false
  const isHeld = (): boolean => isOnlyUnharmedMissing
  const breaking = Promise.all([
    runUpgrades({ plan: plan.upgrades, servers, random: random.fork('upgrades'), down, landed: outages }),
    runKills({ ...processes, landed: kills, plan: plan.kills, random: random.fork('kills'), cluster, recorder, signal, isHeld }),
    runOutages({
      ...processes,
      landed: outages,
      plan: plan.outages,
      random: random.fork('outages'),
      network,
      harms,
      deadMs,
      signal,
    }),
  ])
  let isBroken = false
  breaking.catch(() => (isBroken = true))
  const missing = (): string[] => {
    // The load ends, and the failure is thrown below.
    if (isBroken) return []
    // A harm counts for builds before it as well, so more builds have to be unharmed than at the end.
    const unharmed = countUnharmed({ builds: watch.builds, harms: [...recorder.harms, ...harms], endedAt: clock.now() }) / 1.5
    const { framesAhead } = recorder
    const faults: Record<string, number> = {
      ...kills,
      ...countFaults(network.counts, http?.counts),
      ...outages,
      ...retained?.counts(),
      unharmed,
      framesAhead,
    }
    const all = Object.entries(plan.least ?? {})
      .filter(([what, count]) => (faults[what] ?? (/^(?:outage|replaced)/.test(what) ? 0 : Infinity)) < count)
      .map(([what]) => what)
    isOnlyUnharmedMissing = isUnharmedAlone(all)
    return all
  }
  const { decided } = await runLoad({
    plan,
    random: random.fork('load'),
    requests,
    pipelines: stage.pipelines,
    runtimes: stage.runtimes,
    missing,
    stepKeys: () => recorder.stepKeys(),
  })
  // Then the kills stop: the system guarantees that every build ends if there are no further faults.
  calmDown.abort()
  await breaking
  const calmAt = clock.now()
  const supervising = superviseCalm({ ...processes, signal: over.signal })
  await settle(watch)
  await retained?.readAll()
  giveUp.abort()
  await decided
  over.abort()
  await Promise.all([watching, pauses, supervising])
  network.faults = { ...network.faults, drop: 0, delay: 0, stall: 0 }
  weather.http = CALM_HTTP
  const leftovers = await remains(async () => (await Promise.all(doors.map((door) => door.attempts()))).flat())
  const kept = await retained?.result()
  const builds = kept?.builds ?? (await collectAll(admin))
  const whole: History = {
    seed: plan.seed,
    startedAt,
    endedAt: clock.now(),
    calmAt,
    limits: stage.limits satisfies Limits,
    secrets: SECRETS,
    operations: requests.operations,
    engines: recorder.traces(script),
    builds,
    sightings: watch.sightings,
    looks: watch.looks,
    leftovers,
    texts: await readTexts(folder, plan.dump),
    harms: [...recorder.harms, ...harms],
    ...(kept !== undefined && { retention: kept.trace }),
  }
  const late = retained?.late(requests.operations) ?? new Set<string>()
  const history = withoutBuilds(whole, late)
  const violations = checkInvariants(history)
  const crashes = [...processes.servers, ...agents].flatMap((child) => child.crashes)
  const landed = {
    ...kills,
    ...outages,
    ...countBuilds(history),
    ...countFaults(network.counts, http?.counts),
    retriedRequests: requests.retries,
    framesAhead: recorder.framesAhead,
    children: requests.operations.filter((operation) => operation.kind === 'trigger' && operation.isChild === true).length,
    'removed builds': kept?.trace.removed.length ?? 0,
    'expired logs': kept?.trace.expired.length ?? 0,
    'builds read too late': late.size,
    'builds unseen': retained?.unseen(requests.operations) ?? 0,
  }
  if (violations.length === 0 && crashes.length === 0) await rm(folder, { recursive: true })
  else await keep(history, folder)
  return { history, violations, crashes, landed, seconds: Math.round((clock.now() - startedAt) / 100) / 10 }
}

const FULL_SCRIPT: FakeScript = { crashChance: {}, silentChance: 0, leaks: SECRETS, ...DEFAULT_SCRIPT, seed: 0 }

/** Writes what is needed to find the cause. Texts are already files of the folder. */
async function keep(history: History, folder: string): Promise<void> {
  await writeFile(join(folder, 'history.json'), JSON.stringify({ ...history, texts: [] }, undefined, 1))
  console.log(`the data of this run is kept in ${folder}`)
}

async function collectAll(client: ApiClient): Promise<History['builds']> {
  const all = await listBuilds(client, ONCE_MS)
  const records: History['builds'][number][] = []
  const queue = [...all]
  const worker = async (): Promise<void> => {
    for (let build = queue.pop(); build !== undefined; build = queue.pop()) records.push(await collectBuild(client, build.id))
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  return records
}

function countBuilds(history: History): Record<string, number> {
  const unharmed = countUnharmed(history)
  const counts: Record<string, number> = { builds: history.builds.length, unharmed, attempts: history.engines.length }
  for (const { status } of history.builds) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

function countFaults(network: Record<string, number>, http: Record<string, number> = {}): Record<string, number> {
  return {
    drops: network['drops'] ?? 0,
    delays: network['delays'] ?? 0,
    stalls: network['stalls'] ?? 0,
    lostCalls: http['lose'] ?? 0,
    cutReplies: http['cut-reply'] ?? 0,
    repeated: http['repeat'] ?? 0,
  }
}

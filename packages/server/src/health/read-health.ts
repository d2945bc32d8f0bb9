/** Reads what the health of the server and of its runtimes depends on. `protocol/health` judges it. */
import {
  judgeRuntime,
  judgeServer,
  type AccountSettings,
  type AgentFacts,
  type Health,
  type PodFacts,
  type Runtime,
  type ServerHealth,
} from '@windlass/protocol'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { nextPlaceMs } from '../builds/list/forecast.ts'
import { readHolders } from '../builds/list/limit-use.ts'
import { freeShare } from '../builds/schedule/disk-space.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { listFullSince } from '../store/builds/waiting.ts'
import { readFailedChecks } from '../agents/failed-checks.ts'
import { isOnline, listAgents } from '../store/runtimes/agents.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import { listRejections, listStartWaits, type StartProblem } from '../store/runtimes/start-problems.ts'
import type { AgentRow, RuntimeRow } from '../store/schema/schema.ts'
import { servedBy } from '../tasks/hello.ts'
import { VERSION } from '../version.ts'

/** How long a rejected object is shown if no attempt starts after it. Milliseconds. */
const REJECTED_MS = 3_600_000

/** State of the account that is read once for all runtimes. */
interface Readings {
  readonly now: number
  readonly rows: readonly RuntimeRow[]
  readonly agents: readonly AgentRow[]
  readonly waits: readonly StartProblem[]
  readonly rejections: readonly StartProblem[]
  readonly fullSince: ReadonlyMap<string, number>
  readonly settings: AccountSettings
  readonly checks: Awaited<ReturnType<typeof readFailedChecks>>
  /** Reads the holders of limits at the first call. */
  holders(): ReturnType<typeof readHolders>
}

/** Returns the health of runtimes in their order. */
export async function readRuntimeHealth(app: App, runtimes: readonly Runtime[]): Promise<Health[]> {
  return judgeAll(app, runtimes, await read(app))
}

async function judgeAll(app: App, runtimes: readonly Runtime[], readings: Readings): Promise<Health[]> {
  const found: Health[] = []
  for (const runtime of runtimes) found.push(await judge(app, runtime, readings))
  return found
}

/** Returns the health of the server, given all its runtimes. */
export async function readServerHealth(app: App, runtimes: readonly Runtime[]): Promise<ServerHealth> {
  const readings = await read(app)
  const health = await judgeAll(app, runtimes, readings)
  const { bytes, files } = await freeShare(app)
  const total = (of: 'running' | 'waiting'): number => runtimes.reduce((sum, runtime) => sum + runtime[of], 0)
  const facts = {
    logsFailSince: app.logs.failingSince(),
    freeShare: Math.min(bytes, files),
    minFreeShare: app.minFreeShare,
    isPaused: readings.settings.pauseBuilds,
    pauseReason: readings.settings.pauseReason,
    running: total('running'),
    waiting: total('waiting'),
  }
  return judgeServer(
    facts,
    runtimes.flatMap(({ name }, index) => {
      const one = health[index]
      return one === undefined ? [] : [{ name, health: one }]
    }),
  )
}

/** Adds the health to runtimes. */
export async function withHealth(app: App, runtimes: readonly Runtime[]): Promise<Runtime[]> {
  const health = await readRuntimeHealth(app, runtimes)
  return runtimes.map((runtime, index) => {
    const one = health[index]
    return one === undefined ? runtime : { ...runtime, health: { level: one.level, sentence: one.sentence } }
  })
}

async function read(app: App): Promise<Readings> {
  const { accountId, clock } = app
  const { query } = app.store
  const now = clock.now()
  let holders: ReturnType<typeof readHolders> | undefined
  return {
    now,
    holders: () => (holders ??= readHolders(app)),
    rows: await listRuntimes(query, accountId),
    agents: await listAgents(query, accountId),
    waits: await listStartWaits(query, accountId),
    rejections: await listRejections(query, accountId, now - REJECTED_MS),
    fullSince: await listFullSince(query, accountId),
    settings: await readAccountSettings(query, accountId),
    checks: await readFailedChecks(query, accountId, now),
  }
}

async function judge(app: App, runtime: Runtime, readings: Readings): Promise<Health> {
  const row = readings.rows.find(({ id }) => id === runtime.id)
  const capacity = row === undefined ? undefined : readSpec(row).capacity
  const isFull = capacity !== undefined && runtime.running >= capacity && runtime.waiting > 0
  const holders = isFull ? (await readings.holders()).filter(({ runtime: name }) => name === runtime.name) : []
  const of = (problems: readonly StartProblem[]): PodFacts[] =>
    problems.flatMap(({ runtime: name, message, ...problem }) =>
      name === runtime.name ? [{ ...problem, message: message ?? undefined }] : [],
    )
  const agent = row && agentOf(app, row, readings)
  return judgeRuntime({
    now: readings.now,
    serverVersion: VERSION,
    running: runtime.running,
    waiting: runtime.waiting,
    capacity,
    fullSince: readings.fullSince.get(runtime.name),
    nextMs: isFull ? await nextPlaceMs(app, holders) : undefined,
    agent,
    pods: of(readings.waits),
    rejections: of(readings.rejections),
    pairProblem: runtime.warm?.problem,
    isPaused: readings.settings.pauseBuilds,
    pauseReason: readings.settings.pauseReason,
    failedChecks: readings.checks.filter(
      (one) => one.agent === agent?.name && (one.runtime === undefined || one.runtime === runtime.name),
    ),
  })
}

/** Returns the agent that a runtime names; otherwise the one that serves it, preferably one that is connected. */
function agentOf(app: App, row: RuntimeRow, { agents, rows, now }: Readings): AgentFacts | undefined {
  const connected = (agent: AgentRow): boolean => isOnline(agent, now, app.timings.agentLeaseMs)
  if (row.agent === null) {
    const serving = agents.filter((agent) => servedBy(agent, rows).includes(row.name))
    const agent = serving.find(connected) ?? serving[0]
    return agent && toFacts(agent, connected(agent))
  }
  const agent = agents.find(({ name }) => name === row.agent)
  return agent === undefined ? { name: row.agent, exists: false, isOnline: false } : toFacts(agent, connected(agent))
}

function toFacts({ name, last_seen_at: lastSeenAt, protocol, version }: AgentRow, online: boolean): AgentFacts {
  return {
    name,
    exists: true,
    isOnline: online,
    lastSeenAt: lastSeenAt ?? undefined,
    // The version of an agent of protocol v1 may be that of another product.
    version: protocol === 2 ? (version ?? undefined) : undefined,
  }
}

/** Conversion of runtimes to their API form, with the numbers of running and waiting builds and warm pairs. */
import { defined } from '@windlass/kit/defined'
import type { Runtime } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readSpec } from '../builds/schedule/limits.ts'
import { present } from '../builds/lifecycle/view.ts'
import { isOnline, listAgents } from '../store/runtimes/agents.ts'
import { countLiveAttempts } from '../store/builds/attempts.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentRow, RuntimeRow, WarmPairRow } from '../store/schema/schema.ts'
import type { Query } from '../store/store.ts'
import { countWaitingByRuntime } from '../store/builds/waiting.ts'
import { findPairProblem, listLivePairs } from '../store/runtimes/warm-pairs.ts'
import { servedBy } from '../tasks/hello.ts'
import type { RuntimeAccess } from './access.ts'
import { readLayer } from './layers.ts'

/** How long the failure of a pair is shown. Milliseconds. */
const PROBLEM_MS = 3_600_000

/** Account data that is read once for all runtimes. */
interface AccountState {
  readonly now: number
  readonly agents: readonly AgentRow[]
  readonly online: ReadonlySet<string>
  readonly running: ReadonlyMap<string, number>
  readonly waiting: ReadonlyMap<string, number>
  readonly pairs: readonly WarmPairRow[]
}

export async function showRuntime(app: App, row: RuntimeRow, query: Query = app.store.query): Promise<Runtime> {
  return toRuntime(query, row, await readAccountState(app, query, await listRuntimes(query, app.accountId)))
}

/** Returns the runtimes that a caller may use, by default all. */
export async function listShownRuntimes(app: App, access?: RuntimeAccess): Promise<Runtime[]> {
  const { query } = app.store
  const rows = await listRuntimes(query, app.accountId)
  const state = await readAccountState(app, query, rows)
  const shown = access === undefined ? rows : rows.filter((row) => access.allows(row))
  return Promise.all(shown.map((row) => toRuntime(query, row, state)))
}

async function readAccountState(
  { accountId, clock, timings }: App,
  query: Query,
  rows: readonly RuntimeRow[],
): Promise<AccountState> {
  const now = clock.now()
  // One after the other, because a transaction has one connection.
  const agents = await listAgents(query, accountId)
  const attempts = await countLiveAttempts(query)
  const waiting = await countWaitingByRuntime(query, accountId)
  const pairs = await listLivePairs(query, accountId)
  const isConnected = (agent: AgentRow): boolean => isOnline(agent, now, timings.agentLeaseMs)
  const running = new Map<string, number>()
  for (const { runtime, count } of attempts) running.set(runtime, (running.get(runtime) ?? 0) + count)
  const online = new Set(agents.filter(isConnected).flatMap((agent) => servedBy(agent, rows)))
  return { now, agents, online, running, waiting, pairs }
}

async function toRuntime(query: Query, row: RuntimeRow, state: AccountState): Promise<Runtime> {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    isDefault: row.is_default === 1,
    version: row.version,
    changedBy: row.changed_by,
    spec: readLayer(row),
    agentOnline: state.online.has(row.name),
    running: state.running.get(row.name) ?? 0,
    waiting: state.waiting.get(row.name) ?? 0,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...present({ agent: row.agent, agentState: agentStateOf(row, state), warm: await countWarm(query, row, state) }),
  }
}

/** Returns undefined for a runtime that names no agent. */
function agentStateOf(row: RuntimeRow, { agents }: AccountState): Runtime['agentState'] {
  if (row.agent === null) return undefined
  const agent = agents.find(({ name }) => name === row.agent)
  if (agent === undefined) return { exists: false }
  return { exists: true, ...present({ lastSeenAt: agent.last_seen_at, version: agent.version, message: agent.message }) }
}

/** Returns undefined for a runtime without pairs. */
async function countWarm(query: Query, row: RuntimeRow, { pairs: all, now }: AccountState): Promise<Runtime['warm']> {
  const pairs = all.filter(({ runtime }) => runtime === row.name)
  const count = (status: string): number => pairs.filter((pair) => pair.status === status).length
  const of = { accountId: row.account_id, runtime: row.name, since: now - PROBLEM_MS }
  const problem = readSpec(row).warmPool === undefined ? undefined : await findPairProblem(query, of)
  if (pairs.length === 0 && problem === undefined) return undefined
  return { ready: count('ready'), starting: count('starting'), ...defined({ problem }) }
}

/** Fills the warm pools: pairs by recent demand within the bounds of each runtime, replaced by age and after changes of the runtime. */
import { attempt as guarded, newId, sha256 } from '@windlass/kit'
import type { RuntimeSpec } from '@windlass/protocol'
import type { App } from '../app.ts'
import { hearsEngines } from '../builds/engine/hearing.ts'
import { fitSpec, readSpec } from '../builds/schedule/limits.ts'
import { readCapacity } from '../builds/schedule/capacity.ts'
import { listRuntimes } from '../store/runtimes/runtimes.ts'
import type { AgentRow, RuntimeRow, WarmPairRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'
import { insertTask } from '../store/runtimes/tasks.ts'
import {
  countFailedPairs,
  deleteOldPairs,
  hasPairs,
  insertPair,
  listLivePairs,
  listStarts,
  type Start,
} from '../store/runtimes/warm-pairs.ts'
import { engineUrlFor } from '../tasks/engine-url.ts'
import { DEMAND_MS, wantedPairs } from './desired.ts'
import { fitKey, specHash, triggerLabel } from './fit.ts'
import { PAIR_ATTEMPT, stopPair, taskOf, WARM_TOPIC } from './pairs.ts'
import { bootstrapSecret } from '../identity/sessions/bootstrap-secret.ts'

/** Interval of the passes. A taken pair also wakes the loop and is replaced at once. Milliseconds. */
const FILL_MS = 10_000
/** After `MAX_FAILURES` within `FAILURE_MS` no more pairs are created. Builds then start cold and report the problem. */
const MAX_FAILURES = 2
const FAILURE_MS = 120_000
/** Time without a call of its engine after which a pair is replaced. Milliseconds. */
const SILENT_MS = 90_000
/** How long ended pairs are stored, because their agent may still ask. Milliseconds. */
const KEEP_MS = 86_400_000
const MAX_STARTS = 2_000

/** Fills the pools until the server closes. */
export async function fillLoop(app: App): Promise<void> {
  using watch = app.store.watch(WARM_TOPIC)
  while (!app.closing.aborted) {
    await guarded(app.log, 'keep pairs ready', () => fillPools(app, hearsEngines(app)))
    await watch.next(FILL_MS, app.closing)
  }
}

/** Runs one pass over all runtimes. `judgesSilence` is false while engines had no chance to call. */
export async function fillPools(app: App, judgesSilence: boolean): Promise<void> {
  // Most servers have no pools and need no transaction.
  if (!(await isWanted(app))) return
  const now = app.clock.now()
  await app.store.write(async (tx) => {
    // The locks keep two servers from filling the same gap.
    const { runtimes } = await readCapacity(app, tx, [])
    const live = await listLivePairs(tx.query, app.accountId)
    const pools = [...runtimes.values()]
      // Pairs are created only for agents of protocol v2.
      .map(({ runtime: row, agent }) => ({ row, agent: agent?.protocol === 1 ? undefined : agent }))
      .map((pool) => ({ ...pool, spec: fitSpec(readSpec(pool.row), undefined, app.logLimits) }))
      .filter(({ row, spec }) => row.type === 'kubernetes' && spec.warmPool !== undefined)
    for (const pair of live) if (!pools.some(({ row }) => row.name === pair.runtime)) await ensureStopping(tx, pair, now)
    if (pools.length === 0) return deleteOldPairs(tx, now - KEEP_MS)
    const starts = await listStarts(tx.query, { accountId: app.accountId, since: now - DEMAND_MS, limit: MAX_STARTS })
    for (const pool of pools)
      await fillPool(app, tx, {
        ...pool,
        judgesSilence,
        pairs: live.filter(({ runtime }) => runtime === pool.row.name),
        starts: starts.filter(({ runtime }) => runtime === pool.row.name),
      })
    await deleteOldPairs(tx, now - KEEP_MS)
  })
}

/** True if a runtime has a pool or pairs of a former pool are still stored. */
async function isWanted({ store: { query }, accountId }: App): Promise<boolean> {
  const runtimes = await listRuntimes(query, accountId)
  return runtimes.some((row) => readSpec(row).warmPool !== undefined) || (await hasPairs(query, accountId))
}

/** Stops a pair that is no longer wanted, unless it is already stopping. */
async function ensureStopping(tx: Tx, pair: WarmPairRow, now: number): Promise<void> {
  if (pair.status !== 'stopping') await stopPair(tx, pair, { now })
}

interface Pool {
  readonly row: RuntimeRow
  /** The agent that serves the runtime now. */
  readonly agent: AgentRow | undefined
  readonly spec: RuntimeSpec
  readonly pairs: readonly WarmPairRow[]
  readonly starts: readonly Start[]
  readonly judgesSilence: boolean
}

async function fillPool(app: App, tx: Tx, pool: Pool): Promise<void> {
  const { row, agent, spec, starts } = pool
  const now = app.clock.now()
  const { min = 0, max = 0, maxAgeSeconds = 0 } = spec.warmPool ?? {}
  const hash = specHash(spec)
  const usable: WarmPairRow[] = []
  for (const pair of pool.pairs) {
    if (pair.status === 'stopping') continue
    const age = now - pair.created_at
    const isSilent = pool.judgesSilence && isSilentPair(app, pair, now)
    const isLate = pair.status === 'starting' && now - Math.max(pair.created_at, pair.turn_at ?? 0) > spec.limits.electedMs
    const isOld = age > maxAgeSeconds * 1000 || pair.spec_hash !== hash || pair.agent_id !== (agent?.id ?? pair.agent_id)
    const hasNeverCalled = pool.judgesSilence && neverCalled(app, pair, now)
    if (hasNeverCalled)
      await stopPair(tx, pair, { now, message: `Its engine runs but has not called ${engineUrlFor(app, agent, spec)}.` })
    else if (isLate || isSilent)
      await stopPair(tx, pair, { now, message: isLate ? 'It was not ready in time.' : 'Its engine stopped calling.' })
    else if (isOld) await stopPair(tx, pair, { now })
    else usable.push(pair)
  }
  const wanted = wantedPairs(starts, { min, max }, (start) => fitKey(spec, start))
  // Pairs without demand are only removed by age, so that a short pause does not empty the pool.
  let room = max - usable.length
  if (agent === undefined || room <= 0) return
  const failures = await countFailedPairs(tx.query, { accountId: app.accountId, runtime: row.name, since: now - FAILURE_MS })
  if (failures >= MAX_FAILURES) return
  for (const [key, { count, like }] of wanted) {
    const there = usable.filter(({ fit_key: fits }) => fits === key).length
    const missing = Math.min(Math.max(0, count - there), room)
    for (let n = 0; n < missing; n += 1) await createPair(app, tx, { pool, agent, like })
    room -= missing
  }
}

/** True if the engine of a ready pair stopped calling. Only time in which this server could be called counts. */
function isSilentPair({ hearing }: App, { status, waits_at: asked }: WarmPairRow, now: number): boolean {
  return status === 'ready' && now - Math.max(asked ?? 0, hearing.since) > SILENT_MS
}

/** True if the engine of a pair runs but has never called. Only time in which this server could be called counts. */
function neverCalled(
  { hearing, timings }: App,
  { status, waits_at: asked, engine_since: runs }: WarmPairRow,
  now: number,
): boolean {
  return status === 'starting' && asked === null && runs !== null && now - Math.max(runs, hearing.since) > timings.engineSilentMs
}

interface NewPair {
  readonly pool: Pool
  readonly agent: AgentRow
  readonly like: Start
}

async function createPair(app: App, tx: Tx, { pool: { row, spec }, agent, like }: NewPair): Promise<void> {
  const now = app.clock.now()
  const id = newId(now)
  const { keyId } = await app.vault.sealer(tx)
  const pair: WarmPairRow = {
    id,
    account_id: app.accountId,
    runtime: row.name,
    agent_id: agent.id,
    status: 'starting',
    bootstrap_id: newId(now),
    bootstrap_hash: sha256(bootstrapSecret(app, keyId, { buildId: id, attempt: PAIR_ATTEMPT })),
    key_id: keyId,
    spec_hash: specHash(spec),
    fit_key: fitKey(spec, like),
    spec: JSON.stringify(spec),
    pipeline_id: like.pipeline_id,
    project_id: like.project_id,
    trigger_name: triggerLabel(like),
    branch: like.branch,
    docker_host: null,
    build_id: null,
    attempt: null,
    message: null,
    waits_at: null,
    engine_since: null,
    turn_at: null,
    created_at: now,
    ready_at: null,
    ended_at: null,
  }
  await insertPair(tx, pair)
  await insertTask(tx, taskOf(pair, { kind: 'start-attempt', payload: { type: row.type, spec }, now }))
}

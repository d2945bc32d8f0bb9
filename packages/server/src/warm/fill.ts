/** Keeps the pools filled: pairs by recent demand within the bounds of each runtime, renewed by age and whenever the runtime changes. */
import { attempt as guarded, newId, sha256 } from '@windlass/kit'
import type { RuntimeSpec } from '@windlass/protocol'
import type { App } from '../app.ts'
import { bootstrapSecret } from '../builds/elect.ts'
import { fitSpec, readSpec } from '../builds/limits.ts'
import { readRoom } from '../builds/room.ts'
import type { AgentRow, RuntimeRow, WarmPairRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { insertTask } from '../store/tasks.ts'
import { countFailedPairs, deleteOldPairs, insertPair, listLivePairs, listStarts, type Start } from '../store/warm-pairs.ts'
import { DEMAND_MS, wantedPairs } from './desired.ts'
import { fitKey, specHash } from './fit.ts'
import { PAIR_ATTEMPT, stopPair, taskOf, WARM_TOPIC } from './pairs.ts'

/** Demand changes by the minute; what is taken is made again at once, being woken. */
const FILL_MS = 10_000
/** After so many failures in so long a time no further pairs are made: builds start cold and tell what is wrong. */
const MAX_FAILURES = 2
const FAILURE_MS = 120_000
/** A pair whose engine asks no more is of no use. */
const SILENT_MS = 90_000
/** How long what became of a pair is remembered: its agent may still ask. */
const REMEMBER_MS = 86_400_000
const MAX_STARTS = 2_000

/** Fills the pools until the server closes. */
export async function fillLoop(app: App): Promise<void> {
  using watch = app.store.watch(WARM_TOPIC)
  while (!app.closing.aborted) {
    await guarded(app.log, 'keep pairs ready', () => fillPools(app))
    await watch.next(FILL_MS, app.closing)
  }
}

/** One pass over all runtimes. */
export async function fillPools(app: App): Promise<void> {
  const now = app.clock.now()
  await app.store.write(async (tx) => {
    // Two servers would each fill the same gap.
    const { runtimes } = await readRoom(app, tx)
    const live = await listLivePairs(tx.query, app.accountId)
    const pools = [...runtimes.values()]
      // Pairs are made for agents of protocol 2 alone.
      .map(({ runtime: row, agent }) => ({ row, agent: agent?.protocol === 1 ? undefined : agent }))
      .map((pool) => ({ ...pool, spec: fitSpec(readSpec(pool.row), undefined, app.logLimits) }))
      .filter(({ row, spec }) => row.type === 'kubernetes' && spec.warmPool !== undefined)
    for (const pair of live) if (!pools.some(({ row }) => row.name === pair.runtime)) await endOf(tx, pair, now)
    if (pools.length === 0) return deleteOldPairs(tx, now - REMEMBER_MS)
    const starts = await listStarts(tx.query, { accountId: app.accountId, since: now - DEMAND_MS, limit: MAX_STARTS })
    for (const pool of pools)
      await fillPool(app, tx, {
        ...pool,
        pairs: live.filter(({ runtime }) => runtime === pool.row.name),
        starts: starts.filter(({ runtime }) => runtime === pool.row.name),
      })
    await deleteOldPairs(tx, now - REMEMBER_MS)
  })
}

/** Stops a pair that nobody is to have; one that is on its way out already is left to its agent. */
async function endOf(tx: Tx, pair: WarmPairRow, now: number): Promise<void> {
  if (pair.status !== 'stopping') await stopPair(tx, pair, { now })
}

interface Pool {
  readonly row: RuntimeRow
  /** The agent that serves the runtime now. */
  readonly agent: AgentRow | undefined
  readonly spec: RuntimeSpec
  readonly pairs: readonly WarmPairRow[]
  readonly starts: readonly Start[]
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
    const isSilent = pair.status === 'ready' && now - (pair.waits_at ?? 0) > SILENT_MS
    const isLate = pair.status === 'starting' && age > spec.limits.electedMs
    const isOld = age > maxAgeSeconds * 1000 || pair.spec_hash !== hash || pair.agent_id !== (agent?.id ?? pair.agent_id)
    if (isLate || isSilent)
      await stopPair(tx, pair, { now, message: isLate ? 'It was not ready in time.' : 'Its engine went silent.' })
    else if (isOld) await stopPair(tx, pair, { now })
    else usable.push(pair)
  }
  const wanted = wantedPairs(starts, { min, max }, (start) => fitKey(spec, start))
  // Demand that is over: the pairs go by age, not at once, so that a pause for lunch does not empty the pool.
  let room = max - usable.length
  if (agent === undefined || room <= 0) return
  const failures = await countFailedPairs(tx.query, { accountId: app.accountId, runtime: row.name, since: now - FAILURE_MS })
  if (failures >= MAX_FAILURES) return
  for (const [key, { count, like }] of wanted) {
    const there = usable.filter(({ fit_key: fits }) => fits === key).length
    const missing = Math.min(Math.max(0, count - there), room)
    for (let n = 0; n < missing; n += 1) await makePair(app, tx, { pool, agent, like })
    room -= missing
  }
}

interface Making {
  readonly pool: Pool
  readonly agent: AgentRow
  readonly like: Start
}

async function makePair(app: App, tx: Tx, { pool: { row, spec }, agent, like }: Making): Promise<void> {
  const now = app.clock.now()
  const id = newId(now)
  const pair: WarmPairRow = {
    id,
    account_id: app.accountId,
    runtime: row.name,
    agent_id: agent.id,
    status: 'starting',
    bootstrap_id: newId(now),
    bootstrap_hash: sha256(bootstrapSecret(app, id, PAIR_ATTEMPT)),
    spec_hash: specHash(spec),
    fit_key: fitKey(spec, like),
    spec: JSON.stringify(spec),
    pipeline_id: like.pipeline_id,
    project_id: like.project_id,
    trigger_name: like.trigger,
    branch: like.branch,
    docker_host: null,
    build_id: null,
    attempt: null,
    message: null,
    waits_at: null,
    created_at: now,
    ready_at: null,
    ended_at: null,
  }
  await insertPair(tx, pair)
  await insertTask(tx, taskOf(pair, { kind: 'start-attempt', payload: JSON.stringify({ type: row.type, spec }), now }))
}

/**
 * Pairs of engine and daemon that are kept ready (docs/adr/0052). To an agent a pair is an attempt like any other, under the pair's own
 * id: it makes, watches and removes its objects as always. A build that is elected takes a ready pair in the transaction of its election;
 * from then on what the agent says of the pair is said of the build's attempt. A pair serves one build, and goes with it.
 */
import { fault, newId } from '@windlass/kit'
import type { AgentFact, RuntimeSpec, TaskReport } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { BuildEdit } from '../builds/edit.ts'
import type { AttemptRow, TaskRow, WarmPairRow } from '../store/schema.ts'
import type { Query, Tx } from '../store/store.ts'
import { insertTask, lockOpenTasks, updateTask } from '../store/tasks.ts'
import { findPair, lockPair, lockReadyPair, updatePair } from '../store/warm-pairs.ts'
import { fitKey, specHash } from './fit.ts'

/** Wakes whoever keeps the pools filled. */
export const WARM_TOPIC = 'warm'
/** What the engine of a pair watches. */
export const pairTopic = (id: string): string => `warm:${id}`

/** To the agent a pair is the first attempt of a build with the pair's id. */
export const PAIR_ATTEMPT = 1

/** An engine asks again at least this often; one that was silent for longer is not given a build. */
const SILENT_MS = 45_000
const STOP_RETRY_MS = 5_000

export interface AttemptKey {
  readonly buildId: string
  readonly attempt: number
}

/**
 * Gives the attempt that is being made a ready pair that fits it; true when there was one. Only first attempts from nothing take one: what
 * goes on wants its own disk.
 */
export async function takePair(edit: BuildEdit, attempt: AttemptRow, spec: RuntimeSpec): Promise<boolean> {
  const { build, tx, now } = edit
  if (spec.warmPool === undefined || attempt.protocol !== 2 || attempt.cause !== null || build.restart_of !== null) return false
  const pair = await lockReadyPair(tx, {
    accountId: build.account_id,
    runtime: attempt.runtime,
    agentId: attempt.agent_id,
    specHash: specHash(spec),
    fitKey: fitKey(spec, build),
    pipelineId: build.pipeline_id,
    waitsSince: now - SILENT_MS,
  })
  if (pair === undefined) return false
  attempt.pair_id = pair.id
  attempt.docker_host = pair.docker_host
  await updatePair(tx, pair.id, { status: 'taken', build_id: build.id, attempt: attempt.number })
  tx.wake(pairTopic(pair.id))
  tx.wake(WARM_TOPIC)
  return true
}

/** The attempt that the bearer of a pair's credential runs; the key itself for any other. Throws `attempt-stale` for a pair without a build. */
export async function attemptOfPair(query: Query, key: AttemptKey): Promise<AttemptKey> {
  const pair = await findPair(query, key.buildId)
  if (pair === undefined) return key
  if (pair.status !== 'taken' || pair.build_id === null || pair.attempt === null) throw fault('attempt-stale')
  return { buildId: pair.build_id, attempt: pair.attempt }
}

/** Holds the engine of a pair until it is given a build, for at most `waitMs`. Throws `attempt-stale` when the pair is to go. */
export async function awaitBuild(
  app: App,
  pairId: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<boolean> {
  const until = app.clock.monotonic() + waitMs
  using watch = app.store.watch(pairTopic(pairId))
  await app.store.write((tx) => notePair(tx, pairId, { waits_at: app.clock.now() }, app.clock.now()))
  for (;;) {
    const pair = await findPair(app.store.query, pairId)
    if (pair?.status === 'taken') return true
    if (pair === undefined || !isLive(pair)) throw fault('attempt-stale')
    const rest = until - app.clock.monotonic()
    if (rest <= 0 || signal.aborted) return false
    await watch.next(Math.min(rest, app.store.pollMs), signal)
  }
}

function isLive(pair: WarmPairRow): boolean {
  return pair.status === 'starting' || pair.status === 'ready'
}

/** A pair is ready when its daemon listens and its engine waits. */
async function notePair(
  tx: Tx,
  id: string,
  news: Pick<Partial<WarmPairRow>, 'docker_host' | 'waits_at'>,
  now: number,
): Promise<void> {
  const pair = await lockPair(tx, id)
  if (pair === undefined || !isLive(pair)) return
  const after = { ...pair, ...news }
  const isReady = after.docker_host !== null && after.waits_at !== null
  const becomes = isReady && pair.status === 'starting' ? ({ status: 'ready', ready_at: now } as const) : {}
  await updatePair(tx, id, { ...news, ...becomes })
}

/**
 * What an agent saw of a pair. Answers the fact as one of the build that has the pair, or undefined when it was about the pair alone, or
 * about nothing that is known.
 */
export async function takePairFact(
  tx: Tx,
  seen: { agentId: string; fact: AgentFact; now: number },
): Promise<AgentFact | undefined> {
  const { agentId, fact, now } = seen
  const pair = await lockPair(tx, fact.buildId)
  if (pair === undefined || pair.agent_id !== agentId) return undefined
  if (pair.status === 'taken' && pair.build_id !== null && pair.attempt !== null)
    return { ...fact, buildId: pair.build_id, attempt: pair.attempt }
  if (fact.state === 'gone') {
    if (pair.status !== 'gone') await endPair(tx, pair, { now, message: isLive(pair) ? 'Its objects are gone.' : undefined })
    return undefined
  }
  if (!isLive(pair)) {
    await stopPair(tx, pair, { now })
    return undefined
  }
  if (fact.state === 'lost' || fact.permanent === true) {
    await stopPair(tx, pair, { now, message: fact.message ?? fact.reason ?? 'Its pods ended.' })
    return undefined
  }
  if (fact.dockerHost !== undefined) await notePair(tx, pair.id, { docker_host: fact.dockerHost }, now)
  return undefined
}

/** What an agent says of the task that makes or removes a pair. */
export async function takePairReport(tx: Tx, task: TaskRow, { report, now }: { report: TaskReport; now: number }): Promise<void> {
  const pair = await lockPair(tx, task.build_id)
  if (pair === undefined) return updateTask(tx, task.id, { status: 'done', done_at: now })
  if (task.kind === 'stop-attempt' && report.status !== 'done')
    return updateTask(tx, task.id, { status: 'queued', leased_until: null, available_at: now + STOP_RETRY_MS })
  await updateTask(tx, task.id, { status: report.status === 'refused' ? 'refused' : 'done', done_at: now })
  if (task.kind === 'stop-attempt') return endPair(tx, pair, { now })
  if (report.status !== 'done' && isLive(pair))
    await stopPair(tx, pair, { now, message: report.message ?? report.reason ?? 'It could not be made.' })
}

interface Ending {
  readonly now: number
  /** Why, when it failed; no new ones are made for a while after failures. */
  readonly message?: string | undefined
}

/** Sees to it that nothing of a pair stays; its agent may hear so more than once. */
export async function stopPair(tx: Tx, pair: WarmPairRow, { now, message }: Ending): Promise<void> {
  const open = await lockOpenTasks(tx, pair.id, PAIR_ATTEMPT)
  const start = open.find(({ kind }) => kind === 'start-attempt')
  if (start !== undefined) await updateTask(tx, start.id, { status: 'withdrawn', done_at: now })
  // Nobody was ever told to make it.
  if (start?.revision === 0) return endPair(tx, pair, { now, message })
  await updatePair(tx, pair.id, { status: 'stopping', ...(message !== undefined && { message, ended_at: now }) })
  tx.wake(pairTopic(pair.id))
  if (open.some(({ kind }) => kind === 'stop-attempt')) return
  await insertTask(tx, taskOf(pair, { kind: 'stop-attempt', payload: JSON.stringify({ graceMs: 0 }), now }))
}

async function endPair(tx: Tx, pair: WarmPairRow, { now, message }: Ending): Promise<void> {
  await updatePair(tx, pair.id, { status: 'gone', ended_at: now, ...(message !== undefined && { message }) })
  tx.wake(pairTopic(pair.id))
  tx.wake(WARM_TOPIC)
}

/** A task about a pair, in the words of tasks about attempts. */
export function taskOf(pair: WarmPairRow, { kind, payload, now }: Pick<TaskRow, 'kind' | 'payload'> & { now: number }): TaskRow {
  return {
    id: newId(now),
    account_id: pair.account_id,
    agent_id: pair.agent_id,
    build_id: pair.id,
    attempt: PAIR_ATTEMPT,
    kind,
    status: 'queued',
    revision: 0,
    failures: 0,
    available_at: now,
    leased_until: null,
    runtime: pair.runtime,
    payload,
    created_at: now,
    claimed_at: null,
    done_at: null,
  }
}

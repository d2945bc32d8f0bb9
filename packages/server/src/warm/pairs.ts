/**
 * Warm pairs of engine and daemon (docs/development/adr/0052). For an agent a pair is an ordinary attempt with the pair's id: the agent creates, watches
 * and removes its objects as usual. An elected build takes a ready pair in the transaction of its election. From then on, facts about the pair apply to
 * the build's attempt. A pair serves one build and is removed with it.
 */
import { defined, fault } from '@windlass/kit'
import type { AgentFact, RuntimeSpec, TaskReport } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readUntil } from '../read-until.ts'
import type { BuildEdit } from '../builds/lifecycle/edit.ts'
import type { AttemptRow, WarmPairRow } from '../store/schema/schema.ts'
import type { Query, Tx } from '../store/store.ts'
import { insertTask, lockOpenTasks, newTask, updateTask, type TaskRecord } from '../store/runtimes/tasks.ts'
import { findPair, lockPair, lockReadyPair, updatePair } from '../store/runtimes/warm-pairs.ts'
import { fitKey, specHash } from './fit.ts'
import type { AttemptKey } from '../store/builds/attempts.ts'

/** Wakes the loop that fills the pools. */
export const WARM_TOPIC = 'warm'
/** Returns the topic that the engine of a pair watches. */
export const pairTopic = (id: string): string => `warm:${id}`

/** Attempt number of a pair: for the agent it is the first attempt of a build with the pair's id. */
export const PAIR_ATTEMPT = 1

/** Engines call again at least this often. A pair whose engine was silent for longer gets no build. Milliseconds. */
const SILENT_MS = 45_000
const STOP_RETRY_MS = 5_000

/**
 * Assigns a matching ready pair to the new attempt. Returns true if there was one. Only first attempts of new builds take a pair, because later
 * attempts need their own disk.
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
  attempt.engine_since = now
  await updatePair(tx, pair.id, { status: 'taken', build_id: build.id, attempt: attempt.number })
  tx.wake(pairTopic(pair.id))
  tx.wake(WARM_TOPIC)
  return true
}

/** Returns the attempt of a pair's build, or the key itself if it is not a pair's. Throws `attempt-stale` for a pair without a build. */
export async function attemptOfPair(query: Query, key: AttemptKey): Promise<AttemptKey> {
  const pair = await findPair(query, key.buildId)
  if (pair === undefined) return key
  if (pair.status !== 'taken' || pair.build_id === null || pair.attempt === null) throw fault('attempt-stale')
  return { buildId: pair.build_id, attempt: pair.attempt }
}

/** Waits up to `waitMs` until the pair gets a build. Returns false if it did not. Throws `attempt-stale` if the pair is being removed. */
export async function awaitBuild(
  app: App,
  pairId: string,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<boolean> {
  await app.store.write((tx) => notePair(tx, pairId, { waits_at: app.clock.now() }, app.clock.now()))
  return readUntil(app, {
    topic: pairTopic(pairId),
    waitMs,
    signal,
    async read() {
      const pair = await findPair(app.store.query, pairId)
      if (pair?.status === 'taken') return true
      if (pair === undefined || !isLive(pair)) throw fault('attempt-stale')
      return false
    },
    isDone: (isTaken) => isTaken,
  })
}

function isLive(pair: WarmPairRow): boolean {
  return pair.status === 'starting' || pair.status === 'ready'
}

/** Updates a pair. It becomes ready once its daemon listens and its engine waits. */
async function notePair(
  tx: Tx,
  id: string,
  update: Pick<Partial<WarmPairRow>, 'docker_host' | 'waits_at'>,
  now: number,
): Promise<void> {
  const pair = await lockPair(tx, id)
  if (pair === undefined || !isLive(pair)) return
  const after = { ...pair, ...update }
  const isReady = after.docker_host !== null && after.waits_at !== null
  const becomes = isReady && pair.status === 'starting' ? ({ status: 'ready', ready_at: now } as const) : {}
  await updatePair(tx, id, { ...update, ...becomes })
}

/**
 * Applies a fact about a pair. Returns it as a fact about the build that has the pair, or undefined if it concerns only the pair or an unknown
 * attempt.
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
  if (fact.reason === 'start-limit') await updatePair(tx, pair.id, { turn_at: now })
  if (saysEngineRuns(fact) && pair.engine_since === null) await updatePair(tx, pair.id, { engine_since: now })
  if (fact.dockerHost !== undefined) await notePair(tx, pair.id, { docker_host: fact.dockerHost }, now)
  return undefined
}

/** True if the fact reports that the engine pod runs. */
export function saysEngineRuns({ state, object }: AgentFact): boolean {
  return state === 'running' && object?.startsWith('engine-') === true
}

/** Applies an agent's report on the task that creates or removes a pair. */
export async function takePairReport(
  tx: Tx,
  task: TaskRecord,
  { report, now }: { report: TaskReport; now: number },
): Promise<void> {
  const pair = await lockPair(tx, task.subject.id)
  if (pair === undefined) return updateTask(tx, task.id, { status: 'done', done_at: now })
  if (task.kind === 'stop-attempt' && report.status !== 'done')
    return updateTask(tx, task.id, { status: 'queued', leased_until: null, available_at: now + STOP_RETRY_MS })
  await updateTask(tx, task.id, { status: report.status === 'refused' ? 'refused' : 'done', done_at: now })
  if (task.kind === 'stop-attempt') return endPair(tx, pair, { now })
  if (report.status !== 'done' && isLive(pair))
    await stopPair(tx, pair, { now, message: report.message ?? report.reason ?? 'It could not be created.' })
}

interface PairEnd {
  readonly now: number
  /** Error message of a failed pair. After failures no pairs are created for a while. */
  readonly message?: string | undefined
}

/** Removes the objects of a pair. Can be called repeatedly. */
export async function stopPair(tx: Tx, pair: WarmPairRow, { now, message }: PairEnd): Promise<void> {
  const open = await lockOpenTasks(tx, { id: pair.id, attempt: PAIR_ATTEMPT })
  const start = open.find(({ kind }) => kind === 'start-attempt')
  if (start !== undefined) await updateTask(tx, start.id, { status: 'withdrawn', done_at: now })
  // The start task was never handed out, so no objects exist.
  if (start?.revision === 0) return endPair(tx, pair, { now, message })
  await updatePair(tx, pair.id, { status: 'stopping', ...(message !== undefined && { message, ended_at: now }) })
  tx.wake(pairTopic(pair.id))
  if (open.some(({ kind }) => kind === 'stop-attempt')) return
  await insertTask(tx, taskOf(pair, { kind: 'stop-attempt', payload: { graceMs: 0 }, now }))
}

async function endPair(tx: Tx, pair: WarmPairRow, { now, message }: PairEnd): Promise<void> {
  await updatePair(tx, pair.id, { status: 'gone', ended_at: now, ...defined({ message }) })
  tx.wake(pairTopic(pair.id))
  tx.wake(WARM_TOPIC)
}

/** Creates a task for a pair. */
export function taskOf(pair: WarmPairRow, of: { kind: TaskRecord['kind']; payload: unknown; now: number }): TaskRecord {
  const { id, account_id, agent_id, runtime } = pair
  return newTask({ ...of, account_id, agent_id, runtime, subject: { kind: 'warm-pair', id, attempt: PAIR_ATTEMPT } })
}

/**
 * Election: which waiting builds get an attempt now. Decided from rows alone, under locks on the rows that carry the limits, so that two
 * servers together keep every limit. Whoever is left waiting is told why.
 */
import { attempt as guarded, newId, sha256 } from '@windlass/kit'
import type { RuntimeSpec } from '@windlass/protocol'
import type { App } from '../app.ts'
import { findAttempt, insertAttempt } from '../store/attempts.ts'
import { listRuntimeStores } from '../contexts/runtime-stores.ts'
import { findBuildPlan, findBuildRequest, isVolumeInUse } from '../store/builds.ts'
import { hasCarriedFacts } from '../store/events.ts'
import type { AttemptRow, BuildRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { insertTask } from '../store/tasks.ts'
import { hasWaiting, listGroup, listWaiting, listWaitingGroups } from '../store/waiting.ts'
import { ELECT_TOPIC, moveBuild, openEdit, record, saveBuild, setCause, type BuildEdit } from './edit.ts'
import { takePair } from '../warm/pairs.ts'
import { fitSpec, readSpec } from './limits.ts'
import { readRequest } from './request.ts'
import { accountObstacle, obstacle, occupy, pipelineObstacle, readRoom, runtimeObstacle, type Place, type Room } from './room.ts'

/** Builds looked at in one transaction. */
const PAGE = 100

/** Elects whenever something was freed or came to wait, and from time to time anyway; ends with the server. */
export async function electLoop(app: App): Promise<void> {
  using watch = app.store.watch(ELECT_TOPIC)
  while (!app.closing.aborted) {
    await guarded(app.log, 'elect', () => elect(app))
    await watch.next(app.timings.sweepMs, app.closing)
  }
}

/** One pass: gives attempts to all builds that may have one, and reasons to the others. */
export async function elect(app: App): Promise<void> {
  if (!(await hasWaiting(app.store.query, app.accountId))) return
  let after: Cursor | undefined
  do {
    const from = after
    after = await app.store.write((tx) => electPage(app, tx, from))
  } while (after !== undefined)
  if (await hasWaiting(app.store.query, app.accountId)) while ((await app.store.write((tx) => explainPage(app, tx))) > 0);
}

interface Cursor {
  readonly priority: number
  readonly number: number
}

/** Answers where the next page begins; undefined when this was the last. */
async function electPage(app: App, tx: Tx, after: Cursor | undefined): Promise<Cursor | undefined> {
  const room = await readRoom(app, tx)
  if (accountObstacle(room) !== undefined) return undefined
  const runtimes = [...room.runtimes.keys()].filter((name) => runtimeObstacle(room, name) === undefined)
  if (runtimes.length === 0) return undefined
  const candidates = await listWaiting(tx, {
    accountId: app.accountId,
    runtimes,
    takesDefault: room.defaultRuntime !== undefined && runtimes.includes(room.defaultRuntime),
    openPipelines: [...room.pipelines.keys()].filter((id) => pipelineObstacle(room, id) === undefined),
    after,
    limit: PAGE,
  })
  const now = app.clock.now()
  for (const build of candidates)
    if (obstacle(room, build) === undefined) await electBuild(app, openEdit(tx, build, undefined, now), room)
  return candidates.length < PAGE ? undefined : candidates.at(-1)
}

/** The build gets its next attempt, and an agent the task to start it. */
async function electBuild(app: App, edit: BuildEdit, room: Room): Promise<void> {
  const { build, tx } = edit
  build.runtime ??= room.defaultRuntime ?? null
  const place = build.runtime === null ? undefined : room.runtimes.get(build.runtime)
  if (place?.agent === undefined || !moveBuild(edit, 'elect')) return
  build.volume ??= await chooseVolume(edit, place)
  occupy(room.used, build)
  build.attempt += 1
  const stored = await findBuildRequest(tx.query, build.id)
  const spec = fitSpec(readSpec(place.runtime), stored === undefined ? undefined : readRequest(stored), app.logLimits)
  const attempt = newAttempt(app, edit, { place, spec, cause: await causeOf(edit) })
  const mayBeWarm = stored !== undefined && !readRequest(stored).resetVolume && !(await hasStores(app, edit, spec))
  const isWarm = mayBeWarm && (await takePair(edit, attempt, spec))
  await insertAttempt(tx, attempt)
  await insertTask(tx, {
    id: newId(edit.now),
    account_id: build.account_id,
    agent_id: attempt.agent_id,
    build_id: build.id,
    attempt: attempt.number,
    kind: 'start-attempt',
    // A warm pair is made already; what it was made of counts for the attempt.
    status: isWarm ? 'done' : 'queued',
    revision: 0,
    failures: 0,
    available_at: edit.now,
    leased_until: null,
    runtime: attempt.runtime,
    payload: JSON.stringify({ type: place.runtime.type, spec }),
    created_at: edit.now,
    claimed_at: null,
    done_at: null,
  })
  record(edit, {
    type: 'attempt.created',
    data: {
      runtime: attempt.runtime,
      runtimeVersion: place.runtime.version,
      agent: place.agent.name,
      ...(isWarm && { warm: true }),
    },
  })
  await saveBuild(edit)
}

/** True for a build that reads secret stores of its cluster: a pair that was made for nobody mounts none. */
async function hasStores(app: App, { tx, build }: BuildEdit, { warmPool }: RuntimeSpec): Promise<boolean> {
  if (warmPool === undefined || build.runtime === null) return false
  const plan = (await findBuildPlan(tx.query, build.id))?.plan ?? null
  return (await listRuntimeStores(app, { query: tx.query, runtime: build.runtime, plan })).length > 0
}

/**
 * The shared volume of a pipeline stays for its next build. Where builds share a daemon, one that runs beside another gets a volume of its
 * own, which goes when it ends; in a cluster each build has a daemon, and the disk decides. Needs the lock of the pipeline's row.
 */
async function chooseVolume({ tx, build }: BuildEdit, { runtime }: Place): Promise<string> {
  const own = `windlass-${build.id}`
  if (build.pipeline_id === null) return own
  const shared = `windlass-${build.pipeline_id}`
  const sharesDaemon = runtime.type === 'docker'
  return sharesDaemon && (await isVolumeInUse(tx.query, shared, { buildId: build.id, runtime: runtime.name })) ? own : shared
}

/** Why the build goes on in one more attempt; null for the first of one that begins from nothing. */
async function causeOf({ tx, build }: BuildEdit): Promise<AttemptRow['cause']> {
  if (build.attempt === 1) return (await hasCarriedFacts(tx.query, build.id)) ? 'restart' : null
  const before = await findAttempt(tx.query, build.id, build.attempt - 1)
  return before?.result === 'pending-approval' ? 'approval' : 'infra'
}

interface Making {
  readonly place: Place
  /** As it is for this build. */
  readonly spec: RuntimeSpec
  readonly cause: AttemptRow['cause']
}

function newAttempt(app: App, { build, now }: BuildEdit, { place, spec, cause }: Making): AttemptRow {
  return {
    build_id: build.id,
    number: build.attempt,
    account_id: build.account_id,
    agent_id: place.agent?.id ?? '',
    runtime: place.runtime.name,
    protocol: place.agent?.protocol ?? 2,
    status: 'created',
    result: null,
    reason: null,
    message: null,
    limits: JSON.stringify(spec.limits),
    cause,
    bootstrap_id: newId(now),
    bootstrap_hash: sha256(bootstrapSecret(app, build.id, build.attempt)),
    claim_key: null,
    token_id: newId(now),
    token_hash: null,
    ack_seq: 0,
    seen_at: null,
    output_at: null,
    active_at: null,
    use: null,
    steps_began_at: null,
    steps_ended_at: null,
    waiting_reason: null,
    waiting_message: null,
    waiting_since: null,
    docker_host: null,
    pair_id: null,
    gone: 0,
    created_at: now,
    started_at: null,
    ended_at: null,
  }
}

/** The secret part of an engine's bootstrap credential: made again for each hand-over of the task, stored nowhere. */
export function bootstrapSecret(app: App, buildId: string, attempt: number): string {
  return app.vault.derive(`bootstrap/${buildId}/${attempt}`)
}

/** Tells waiting builds why they wait, where that changed; answers how many. */
async function explainPage(app: App, tx: Tx): Promise<number> {
  const room = await readRoom(app, tx)
  const now = app.clock.now()
  for (const group of await listWaitingGroups(tx.query, app.accountId)) {
    const cause = obstacle(room, group)
    if (cause === undefined || cause.reason === group.reason) continue
    const builds: BuildRow[] = await listGroup(tx, app.accountId, group, PAGE)
    for (const build of builds) {
      const edit = openEdit(tx, build, undefined, now)
      setCause(edit, cause)
      record(edit, { type: 'build.waiting', data: { reason: cause.reason, message: cause.message } })
      await saveBuild(edit)
    }
    if (builds.length > 0) return builds.length
  }
  return 0
}

/**
 * Election: decides which waiting builds get an attempt now. It reads rows only, under locks on the rows that define the limits, so that several
 * servers together keep every limit. Builds that keep waiting get a reason.
 */
import { attempt as guarded, newId, sha256 } from '@windlass/kit'
import type { RuntimeSpec } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findAttempt, insertAttempt } from '../../store/builds/attempts.ts'
import { listRuntimeStores } from '../../contexts/runtime-stores.ts'
import { findBuildPlan, findBuildRequest, isVolumeInUse } from '../../store/builds/builds.ts'
import { hasCarriedFacts } from '../../store/builds/events.ts'
import type { AttemptRow } from '../../store/schema/schema.ts'
import type { Tx } from '../../store/store.ts'
import { insertTask, newTask } from '../../store/runtimes/tasks.ts'
import { hasWaiting, listWaitingGroups, lockGroup, type WaitingGroup } from '../../store/builds/waiting.ts'
import { ELECT_TOPIC, moveBuild, openEdit, record, saveBuild, setCause, type BuildEdit, type Cause } from '../lifecycle/edit.ts'
import { takePair } from '../../warm/pairs.ts'
import { fitSpec, readSpec } from './limits.ts'
import { startableBuilds } from './start-order.ts'
import { readRequest } from '../create/request.ts'
import { blockingCause, countUsage, readCapacity, type ServedRuntime, type Capacity } from './capacity.ts'
import { bootstrapSecret } from '../../identity/sessions/bootstrap-secret.ts'

/** Maximum number of builds that get an attempt or a reason in one transaction. */
const PAGE = 100

/** Runs an election after every wake-up and at least every `sweepMs`, until the server closes. */
export async function electLoop(app: App): Promise<void> {
  using watch = app.store.watch(ELECT_TOPIC)
  while (!app.closing.aborted) {
    await guarded(app.log, 'elect', () => elect(app))
    await watch.next(app.timings.sweepMs, app.closing)
  }
}

/** Gives an attempt to each build that can start, and a reason to the others. */
export async function elect(app: App): Promise<void> {
  if (!(await hasWaiting(app.store.query, app.accountId))) return
  const start = app.clock.now()
  let changed = 0
  for (let last = PAGE; last >= PAGE; changed += last) last = await app.store.write((tx) => electPage(app, tx))
  if (changed > 0)
    app.traces?.record({ name: 'election', start, end: app.clock.now(), attributes: { 'windlass.election.builds': changed } })
}

/** Returns the number of changed builds. `PAGE` means that there may be more. */
async function electPage(app: App, tx: Tx): Promise<number> {
  const groups = await listWaitingGroups(tx.query, app.accountId)
  const capacity = await readCapacity(app, tx, groups)
  const judged = judge(capacity, groups)
  const open = judged.filter(({ cause }) => cause === undefined).map(({ group }) => group)
  const started = await startBuilds(app, tx, { capacity, open })
  if (started === PAGE) return PAGE
  return started + (await explain(app, tx, { judged: started === 0 ? judged : judge(capacity, groups), limit: PAGE - started }))
}

/** Starts at most `PAGE` builds of the open groups. Returns how many. */
async function startBuilds(
  app: App,
  tx: Tx,
  { capacity, open }: { capacity: Capacity; open: readonly WaitingGroup[] },
): Promise<number> {
  if (open.length === 0) return 0
  const { keyId } = await app.vault.sealer(tx)
  const now = app.clock.now()
  let started = 0
  for await (const build of startableBuilds(tx, { accountId: app.accountId, capacity, open })) {
    if (await electBuild(app, openEdit(tx, build, undefined, now), { capacity, keyId })) started += 1
    if (started === PAGE) break
  }
  return started
}

/** A group with the cause why none of its builds can start. `cause` is undefined if one can. */
interface Judged {
  readonly group: WaitingGroup
  readonly cause: Cause | undefined
}

function judge(capacity: Capacity, groups: readonly WaitingGroup[]): Judged[] {
  return groups.map((group) => ({ group, cause: blockingCause(capacity, group) }))
}

/** Creates the next attempt of the build and the start task for its agent. Returns false if the build cannot start. */
async function electBuild(
  app: App,
  edit: BuildEdit,
  { capacity, keyId }: { capacity: Capacity; keyId: string },
): Promise<boolean> {
  const { build, tx } = edit
  build.runtime ??= capacity.defaultRuntime ?? null
  const served = build.runtime === null ? undefined : capacity.runtimes.get(build.runtime)
  if (served?.agent === undefined || !moveBuild(edit, 'elect')) return false
  build.volume ??= await chooseVolume(edit, served)
  countUsage(capacity, build)
  build.attempt += 1
  const stored = await findBuildRequest(tx.query, build.id)
  const request = stored && readRequest(stored)
  const spec = fitSpec(readSpec(served.runtime), request, app.logLimits)
  const attempt = newAttempt(app, edit, { served, spec, cause: await causeOf(edit), keyId })
  const mayBeWarm = request !== undefined && !request.resetVolume && !(await hasStores(app, edit, spec))
  const isWarm = mayBeWarm && (await takePair(edit, attempt, spec))
  await insertAttempt(tx, attempt)
  await insertTask(
    tx,
    newTask({
      account_id: build.account_id,
      agent_id: attempt.agent_id,
      subject: { kind: 'attempt', id: build.id, attempt: attempt.number },
      kind: 'start-attempt',
      // The objects of a warm pair already exist. The attempt still gets the spec that they were created from.
      status: isWarm ? 'done' : 'queued',
      runtime: attempt.runtime,
      payload: { type: served.runtime.type, spec },
      now: edit.now,
    }),
  )
  record(edit, {
    type: 'attempt.created',
    data: {
      runtime: attempt.runtime,
      runtimeVersion: served.runtime.version,
      agent: served.agent.name,
      ...(isWarm && { warm: true }),
    },
  })
  await saveBuild(edit)
  return true
}

/** True for a build that reads secret stores of its cluster. Such a build cannot use a warm pair, because warm pairs mount no secret stores. */
async function hasStores(app: App, { tx, build }: BuildEdit, { warmPool }: RuntimeSpec): Promise<boolean> {
  if (warmPool === undefined || build.runtime === null) return false
  const plan = (await findBuildPlan(tx.query, build.id))?.plan ?? null
  return (await listRuntimeStores(app, { query: tx.query, runtime: build.runtime, plan })).length > 0
}

/**
 * Returns the name of the volume for a build. The builds of a pipeline share a volume, which stays for the next build. On a shared daemon a
 * concurrent build of the same pipeline gets a separate volume, which is deleted when the build ends. In a cluster each build has its own daemon
 * and disk. Requires the lock of the pipeline's row.
 */
async function chooseVolume({ tx, build }: BuildEdit, { runtime }: ServedRuntime): Promise<string> {
  const own = `windlass-${build.id}`
  if (build.pipeline_id === null) return own
  const shared = `windlass-${build.pipeline_id}`
  const sharesDaemon = runtime.type === 'docker'
  return sharesDaemon && (await isVolumeInUse(tx.query, shared, { build, runtime: runtime.name })) ? own : shared
}

/** Returns why the build continues in another attempt. Null for the first attempt of a build that carries nothing over. */
async function causeOf({ tx, build }: BuildEdit): Promise<AttemptRow['cause']> {
  if (build.attempt === 1) return build.restart_of !== null && (await hasCarriedFacts(tx.query, build.id)) ? 'restart' : null
  const before = await findAttempt(tx.query, build.id, build.attempt - 1)
  return before?.result === 'pending-approval' ? 'approval' : 'infra'
}

interface NewAttempt {
  readonly served: ServedRuntime
  /** The spec for this build. */
  readonly spec: RuntimeSpec
  readonly cause: AttemptRow['cause']
  /** Id of the current master key. */
  readonly keyId: string
}

function newAttempt(app: App, { build, now }: BuildEdit, { served, spec, cause, keyId }: NewAttempt): AttemptRow {
  return {
    build_id: build.id,
    number: build.attempt,
    account_id: build.account_id,
    agent_id: served.agent?.id ?? '',
    runtime: served.runtime.name,
    protocol: served.agent?.protocol ?? 2,
    status: 'created',
    result: null,
    reason: null,
    message: null,
    limits: JSON.stringify(spec.limits),
    cause,
    bootstrap_id: newId(now),
    bootstrap_hash: sha256(bootstrapSecret(app, keyId, { buildId: build.id, attempt: build.attempt })),
    key_id: keyId,
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
    turn_at: null,
    engine_since: null,
    docker_host: null,
    pair_id: null,
    loss: null,
    loss_at: null,
    spooled: null,
    missing: null,
    gone: 0,
    created_at: now,
    started_at: null,
    ended_at: null,
  }
}

/** Updates the reason of builds that keep waiting. Returns the number of changed builds. */
async function explain(app: App, tx: Tx, { judged, limit }: { judged: readonly Judged[]; limit: number }): Promise<number> {
  const now = app.clock.now()
  let explained = 0
  for (const { group, cause } of judged) {
    if (cause === undefined || cause.reason === group.reason) continue
    const page = { accountId: app.accountId, group, from: group.number, limit: limit - explained }
    for (const build of await lockGroup(tx, page)) {
      const edit = openEdit(tx, build, undefined, now)
      setCause(edit, cause)
      record(edit, { type: 'build.waiting', data: { reason: cause.reason, message: cause.message } })
      await saveBuild(edit)
      explained += 1
    }
    if (explained >= limit) break
  }
  return explained
}

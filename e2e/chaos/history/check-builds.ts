/** Invariants 1, 2, 3 and 12: triggers compared with builds, and the states of a build over time. */
import { isFinalBuild } from '@windlass/plan'
import { isTrigger, type BuildRecord, type History, type Operation, type Sighting, type Violation } from './history.ts'

/** Time that a build may take beyond its own deadline. */
export const DEADLINE_GRACE_MS = 60_000
/**
 * The pause between two observations of all builds. If observations are recorded, a deadline is a number of them, which is the time of the servers.
 */
export const LOOK_MS = 500
/**
 * A build that waits for this many consecutive observations must have a reason. Observations are responses of the server: on a busy machine its
 * responses and the passes of its scheduler are equally late.
 */
export const SILENT_LOOKS = 6

/** 1: an accepted trigger has one build, a refused trigger has none, and no trigger has an unknown outcome. */
export function* checkTriggers(history: History): Generator<Violation> {
  for (const trigger of history.operations.filter(isTrigger)) {
    const builds = history.builds.filter(({ key }) => key === trigger.key)
    const wanted = trigger.result === 'fail' ? 0 : 1
    if (trigger.result === 'unknown') yield { invariant: 1, message: `trigger ${trigger.key} was never settled` }
    else if (builds.length !== wanted) {
      yield { invariant: 1, message: `trigger ${trigger.key} (${trigger.result}) has ${builds.length} builds, not ${wanted}` }
    } else if (wanted === 1 && builds[0]?.id !== trigger.buildId) {
      yield { invariant: 1, message: `trigger ${trigger.key} was told ${trigger.buildId}, but its build is ${builds[0]?.id}` }
    }
  }
}

/** 1: no build without a trigger. */
export function* checkBuilds(history: History): Generator<Violation> {
  const keys = new Set(history.operations.filter(isTrigger).map(({ key }) => key))
  for (const build of history.builds) {
    if (!keys.has(build.key)) yield { invariant: 1, buildId: build.id, message: `nobody asked for this build (${build.key})` }
  }
}

/** 2: final in time. */
export function* checkDeadlines(history: History): Generator<Violation> {
  const calmAt = history.calmAt ?? 0
  const deadlines = new Map(
    history.operations.filter(isTrigger).map(({ key, at, deadlineMs }) => [key, Math.max(at, calmAt) + deadlineMs]),
  )
  const { looks } = history
  for (const build of history.builds) {
    const due = (deadlines.get(build.key) ?? build.createdAt) + DEADLINE_GRACE_MS
    const from = Math.max(build.createdAt, calmAt)
    const deadline = looks === undefined ? due : (looks.filter((at) => at >= from)[Math.ceil((due - from) / LOOK_MS)] ?? Infinity)
    if (!isFinalBuild(build.status)) yield { invariant: 2, buildId: build.id, message: `still ${build.status} at the end` }
    else if (build.finishedAt === undefined) yield { invariant: 2, buildId: build.id, message: `final without a time` }
    else if (build.finishedAt > deadline) {
      yield {
        invariant: 2,
        buildId: build.id,
        message: `final ${build.finishedAt - deadline} ms after its deadline and the grace`,
      }
    }
  }
}

/** 3: a final state is permanent, is reported once, and matches the last attempt or the cancel. */
export function* checkFinalStates(history: History): Generator<Violation> {
  for (const build of history.builds) {
    yield* checkOneFinalState(build, history.sightings)
    yield* checkEarned(build, history)
  }
}

function* checkOneFinalState(build: BuildRecord, sightings: readonly Sighting[]): Generator<Violation> {
  const seen = sightings.filter(({ buildId }) => buildId === build.id)
  const first = seen.findIndex(({ status }) => isFinalBuild(status))
  const final = seen[first]
  if (final !== undefined) {
    const after = [...seen.slice(first + 1).map(({ status }) => status), build.status]
    const changed = after.find((status) => status !== final.status)
    if (changed !== undefined) yield { invariant: 3, buildId: build.id, message: `${final.status} became ${changed}` }
  }
  const endings = build.feed.filter((item) => item.kind === 'event' && item.type === 'build.finished').length
  if (endings > 1) yield { invariant: 3, buildId: build.id, message: `its end is told ${endings} times` }
  const live = build.attempts.filter(({ status }) => status !== 'ended').map(({ number }) => number)
  if (isFinalBuild(build.status) && live.length > 0) {
    yield { invariant: 3, buildId: build.id, message: `final, but attempt ${live.join(', ')} is not ended` }
  }
}

function* checkEarned(build: BuildRecord, history: History): Generator<Violation> {
  if (!isFinalBuild(build.status)) return
  const cancelled = history.operations.some((operation) => isAcceptedCancel(operation, build.id))
  if (cancelled && build.status !== 'terminated') {
    yield { invariant: 3, buildId: build.id, message: `its cancel was accepted, yet it ended as ${build.status}` }
  }
  const said = history.engines.filter(({ buildId, outcome }) => buildId === build.id && outcome !== undefined)
  if (build.status === 'success' && !said.some(({ outcome }) => outcome === 'success')) {
    yield { invariant: 3, buildId: build.id, message: `success, but no engine said so` }
  }
  const unheard = said.find(({ outcome, end }) => outcome === 'success' && end === 'finished')
  if (unheard !== undefined && build.status === 'error') {
    const message = `error (${build.reason}), but the success of attempt ${unheard.attempt} was acknowledged`
    yield { invariant: 3, buildId: build.id, message }
  }
}

/** A cancel of a build that is already final is answered with `build-final` and changes nothing. */
export function isAcceptedCancel(operation: Operation, buildId: string): boolean {
  return operation.kind === 'terminate' && operation.buildId === buildId && operation.result === 'ok'
}

/** 12: a waiting build shows why it waits. */
export function* checkWaits(history: History): Generator<Violation> {
  const silent = new Map<string, number>()
  for (const { buildId, status, reason } of history.sightings) {
    const isSilent = (status === 'pending' || status === 'delayed' || status === 'pending-approval') && reason === undefined
    if (!isSilent) {
      silent.delete(buildId)
      continue
    }
    const looks = (silent.get(buildId) ?? 0) + 1
    silent.set(buildId, looks)
    if (looks === SILENT_LOOKS + 1) yield { invariant: 12, buildId, message: `${status} for ${looks} looks without a reason` }
  }
}

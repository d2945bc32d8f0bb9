/** Invariants 1, 2, 3 and 12: triggers against builds, and the states of a build over time. */
import { isFinalBuild } from '@windlass/plan'
import { isTrigger, type BuildRecord, type History, type Operation, type Sighting, type Violation } from './history.ts'

/** What a build may take beyond its own deadline. */
export const DEADLINE_GRACE_MS = 60_000
/** A build that waits longer than this must say why; less is the time between two passes of the scheduler. */
export const SILENT_WAIT_MS = 2_000
/** A longer time between two looks counts as this: the server was dead, and nobody could have been told. */
const LOOK_MS = 500

/** 1: an accepted trigger has one build, a refused one has none, and no answer is left open. */
export function* checkTriggers(history: History): Generator<Violation> {
  for (const trigger of history.operations.filter(isTrigger)) {
    const builds = history.builds.filter(({ branch }) => branch === trigger.key)
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
    if (!keys.has(build.branch))
      yield { invariant: 1, buildId: build.id, message: `nobody asked for this build (${build.branch})` }
  }
}

/** 2: final in time. */
export function* checkDeadlines(history: History): Generator<Violation> {
  const deadlines = new Map(history.operations.filter(isTrigger).map(({ key, at, deadlineMs }) => [key, at + deadlineMs]))
  for (const build of history.builds) {
    const deadline = (deadlines.get(build.branch) ?? build.createdAt) + DEADLINE_GRACE_MS
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

/** 3: a final state stays, is told once, and is what the last attempt or the cancel earned. */
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

/** A cancel that found the build final already is answered with `build-final` and changes nothing. */
export function isAcceptedCancel(operation: Operation, buildId: string): boolean {
  return operation.kind === 'terminate' && operation.buildId === buildId && operation.result === 'ok'
}

/** 12: whoever looks at a waiting build sees why it waits. */
export function* checkWaits(history: History): Generator<Violation> {
  const silent = new Map<string, { last: number; ms: number }>()
  for (const { buildId, status, reason, at } of history.sightings) {
    const isSilent = (status === 'pending' || status === 'delayed' || status === 'pending-approval') && reason === undefined
    if (!isSilent) {
      silent.delete(buildId)
      continue
    }
    const before = silent.get(buildId)
    const ms = before === undefined ? 0 : before.ms + Math.min(at - before.last, LOOK_MS)
    silent.set(buildId, { last: at, ms })
    if (ms > SILENT_WAIT_MS && (before?.ms ?? 0) <= SILENT_WAIT_MS) {
      yield { invariant: 12, buildId, message: `${status} for ${Math.round(ms)} ms without a reason` }
    }
  }
}

/** Invariants 4, 5, 6 and 8: the actual behavior of the engines. */
import { isFinalBuild } from '@windlass/plan'
import { isAcceptedCancel } from './check-builds.ts'
import { decisionsIn } from './check-approvals.ts'
import { isTrigger, type BuildRecord, type EngineTrace, type History, type StepShape, type Violation } from './history.ts'

interface Interval {
  readonly from: number
  readonly to: number
  readonly trace: EngineTrace
}

/**
 * The period from the claim, which grants the right to run, until the engine reported its outcome or died. Without either it lasts to the end of the
 * run.
 */
function liveIntervals(history: History): Interval[] {
  return history.engines.flatMap((trace) =>
    trace.claimedAt === undefined
      ? []
      : [{ from: trace.claimedAt, to: trace.outcomeAt ?? trace.endedAt ?? history.endedAt, trace }],
  )
}

/** 4: no two engines of a build are live at the same time, and a credential serves one engine. Disks follow the same rule. */
export function* checkLiveAttempts(history: History): Generator<Violation> {
  const intervals = liveIntervals(history)
  for (const [buildId, own] of Map.groupBy(intervals, ({ trace }) => trace.buildId)) {
    for (const [first, second] of overlaps(own)) {
      yield {
        invariant: 4,
        buildId,
        message: `attempts ${first.trace.attempt} and ${second.trace.attempt} were live together for ${Math.round(Math.min(first.to, second.to) - second.from)} ms`,
      }
    }
    for (const [attempt, claims] of Map.groupBy(own, ({ trace }) => trace.attempt)) {
      if (claims.length > 1) yield { invariant: 4, buildId, message: `attempt ${attempt} was claimed ${claims.length} times` }
    }
  }
  const onDisk = intervals.filter(({ trace }) => trace.disk !== undefined)
  for (const [disk, own] of Map.groupBy(onDisk, ({ trace }) => trace.disk)) {
    for (const [first, second] of overlaps(own)) {
      yield { invariant: 4, buildId: second.trace.buildId, message: `shared disk ${disk} with build ${first.trace.buildId}` }
    }
  }
}

function overlaps(intervals: readonly Interval[]): [Interval, Interval][] {
  const sorted = intervals.toSorted((a, b) => a.from - b.from)
  const found: [Interval, Interval][] = []
  let longest = sorted[0]
  for (const interval of sorted.slice(1)) {
    if (longest !== undefined && interval.from < longest.to) found.push([longest, interval])
    if (longest === undefined || interval.to > longest.to) longest = interval
  }
  return found
}

/** 5: a step starts after its predecessors, not after a failed one, not after a cancel, and not again if it is known to be done. */
export function* checkStepOrder(history: History): Generator<Violation> {
  const shapes = new Map(history.operations.filter(isTrigger).map(({ key, steps }) => [key, steps]))
  for (const build of history.builds) {
    const steps = shapes.get(build.key) ?? []
    const traces = history.engines.filter(({ buildId }) => buildId === build.id)
    for (const trace of traces) {
      for (const message of wrongStarts(trace, traces, { steps, feed: build.feed }))
        yield { invariant: 5, buildId: build.id, message }
    }
    yield* checkNotRepeated(history, build.id)
    yield* checkCancelReach(history, build.id)
  }
}

interface Known {
  readonly steps: readonly StepShape[]
  readonly feed: BuildRecord['feed']
}

function* wrongStarts(trace: EngineTrace, traces: readonly EngineTrace[], { steps: shapes, feed }: Known): Generator<string> {
  const byName = new Map(shapes.map((shape) => [shape.name, shape]))
  const earlier = traces.filter(({ attempt }) => attempt <= trace.attempt).flatMap(({ steps }) => steps)
  for (const step of trace.steps) {
    const shape = byName.get(step.name)
    if (shape === undefined) yield `step ${step.name} is not in the plan`
    for (const name of shape?.after ?? []) {
      const done =
        byName.get(name)?.isApproval === true
          ? decisionsIn(feed).some(
              (decided) => decided.step === name && decided.decision === 'approved' && decided.at <= step.startedAt,
            )
          : earlier.some((other) => other.name === name && other.finishedAt !== undefined && other.finishedAt <= step.startedAt)
      if (!done) yield `attempt ${trace.attempt}: step ${step.name} started before ${name} was done`
    }
    const failed = trace.steps.find(
      (other) =>
        other.status === 'error' && byName.get(other.name)?.failFast === true && (other.finishedAt ?? 0) < step.startedAt,
    )
    if (failed !== undefined) yield `attempt ${trace.attempt}: step ${step.name} started after ${failed.name} had failed`
    const twice = trace.steps.filter(({ name }) => name === step.name).length
    if (twice > 1) yield `attempt ${trace.attempt}: step ${step.name} was started ${twice} times`
  }
}

/** A step whose end the server stored is not run again by a later attempt that kept the volume. */
function* checkNotRepeated(history: History, buildId: string): Generator<Violation> {
  const feed = history.builds.find(({ id }) => id === buildId)?.feed ?? []
  const known = feed.flatMap((item) =>
    item.kind === 'event' && item.type === 'step.finished' ? [{ attempt: item.attempt, step: String(item.data['step']) }] : [],
  )
  for (const trace of history.engines) {
    if (trace.buildId !== buildId || !trace.volumeKept) continue
    const kept = keptSince(history, trace)
    for (const { name } of trace.steps) {
      const done = known.find(({ step, attempt }) => step === name && attempt < trace.attempt && attempt >= kept)
      if (done !== undefined) {
        const message = `attempt ${trace.attempt} ran ${name} again, which attempt ${done.attempt} had done`
        yield { invariant: 5, buildId, message }
      }
    }
  }
}

/** Returns the first attempt whose work is still on the volume that `trace` found. */
function keptSince(history: History, trace: EngineTrace): number {
  const fresh = history.engines.filter(
    ({ buildId, attempt, volumeKept, claimedAt }) =>
      buildId === trace.buildId && attempt < trace.attempt && !volumeKept && claimedAt !== undefined,
  )
  return Math.max(1, ...fresh.map(({ attempt }) => attempt))
}

function* checkCancelReach(history: History, buildId: string): Generator<Violation> {
  const cancel = history.operations.find((operation) => isAcceptedCancel(operation, buildId))
  if (cancel === undefined) return
  for (const trace of history.engines.filter((engine) => engine.buildId === buildId)) {
    // Without a record of the polls of the engine, it counts from the time at which the server accepted the cancel.
    const polls = trace.polls ?? [{ begunAt: Infinity, answeredAt: cancel.endedAt }]
    const toldAt = polls.find(({ begunAt }) => begunAt > cancel.endedAt)?.answeredAt
    // One step may start while the engine reads the response.
    const [, late] = trace.steps.filter(({ startedAt }) => toldAt !== undefined && startedAt > toldAt)
    if (late === undefined) continue
    const message = `step ${late.name} is the second one that attempt ${trace.attempt} started after it got the cancel`
    yield { invariant: 5, buildId, message }
  }
}

/** 6: the number of live builds never exceeds a limit. */
export function* checkLimits(history: History): Generator<Violation> {
  const builds = new Map(history.builds.map((build) => [build.id, build]))
  const intervals = liveIntervals(history)
  const { pipelines, runtimes, branches = {}, triggers = {}, account = Infinity } = history.limits
  /** The scope of a limit, and the group of a build. Undefined if the limit does not apply to the build. */
  const kinds: readonly { kind: string; limits: Readonly<Record<string, number>>; groupOf(build: BuildRecord): string[] }[] = [
    { kind: 'account', limits: { all: account }, groupOf: () => ['all'] },
    { kind: 'runtime', limits: runtimes, groupOf: ({ runtime }) => [runtime] },
    { kind: 'pipeline', limits: pipelines, groupOf: ({ pipeline }) => [pipeline] },
    { kind: 'branch', limits: branches, groupOf: ({ pipeline, branch = '' }) => [pipeline, branch] },
    { kind: 'trigger', limits: triggers, groupOf: ({ pipeline, trigger = '' }) => [pipeline, trigger] },
  ]
  for (const { kind, limits, groupOf } of kinds) {
    const groups = Map.groupBy(intervals, ({ trace }) => {
      const build = builds.get(trace.buildId)
      return build === undefined ? '' : groupOf(build).join(' ')
    })
    for (const [group, own] of groups) {
      const limit = limits[group.split(' ')[0] ?? ''] ?? Infinity
      const most = mostAtOnce(own)
      if (most > limit) yield { invariant: 6, message: `${kind} ${group} had ${most} live builds, ${limit} are allowed` }
    }
  }
}

function mostAtOnce(intervals: readonly Interval[]): number {
  const changes = intervals.flatMap(({ from, to }) => [
    { at: from, by: 1 },
    { at: to, by: -1 },
  ])
  let now = 0
  let most = 0
  for (const { by } of changes.toSorted((a, b) => a.at - b.at || a.by - b.by)) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

/** 8: a final build leaves no objects, and an engine is stopped from outside only if its build is final or canceled or its attempt is replaced. */
export function* checkRemains(history: History): Generator<Violation> {
  const builds = new Map(history.builds.map((build) => [build.id, build]))
  for (const { buildId, object } of history.leftovers) {
    const build = builds.get(buildId)
    if (build === undefined || isFinalBuild(build.status)) yield { invariant: 8, buildId, message: `${object} is still there` }
  }
  for (const trace of history.engines) {
    // An engine that has reported its outcome does no more work: the server may have stored it and only its response may be lost.
    if (trace.end !== 'stopped' || trace.claimedAt === undefined || trace.outcome !== undefined) continue
    const build = builds.get(trace.buildId)
    const cancelled = history.operations.some((operation) => isAcceptedCancel(operation, trace.buildId))
    const lost = build?.attempts.some(({ number, reason }) => number === trace.attempt && reason !== undefined) === true
    if (!cancelled && !lost) {
      yield {
        invariant: 8,
        buildId: trace.buildId,
        message: `the engine of attempt ${trace.attempt} was stopped while its build was live`,
      }
    }
  }
}

/** Invariants 15, 16 and 17: unharmed builds make progress, and the reports of engines are recorded. */
import { defined } from '@windlass/kit/defined'
import { REASONS, isFinalBuild, type Reason } from '@windlass/plan'
import { isAcceptedCancel } from './check-builds.ts'
import { decisionsIn } from './check-approvals.ts'
import { isTrigger, type BuildRecord, type EngineTrace, type Harm, type History, type Violation } from './history.ts'

/** A loss is detected with a delay, and a build that waits for capacity may be given up even later because of it. */
const NOTICE_MS = 20_000

/** 15: an unharmed build ends as its script says. */
export function* checkVerdicts(history: History): Generator<Violation> {
  if (history.harms === undefined) return
  const shapes = new Map(history.operations.filter(isTrigger).map(({ key, steps }) => [key, steps]))
  for (const build of history.builds) {
    if (!isFinalBuild(build.status) || isHarmed(history, build)) continue
    const steps = shapes.get(build.key) ?? []
    const expected = scripted(history, build)
    const told = expected === 'denied' ? 'error' : expected
    if (build.status !== told)
      yield {
        invariant: 15,
        buildId: build.id,
        message: `${build.status} (${build.reason}), but nobody harmed it and its script says ${expected}`,
      }
    else if (expected === 'success') {
      const ran = new Set(
        history.engines.filter(({ buildId }) => buildId === build.id).flatMap((trace) => trace.steps.map(({ name }) => name)),
      )
      const missing = steps.filter(({ name, isApproval }) => isApproval !== true && !ran.has(name)).map(({ name }) => name)
      if (missing.length > 0) yield { invariant: 15, buildId: build.id, message: `success without its steps ${missing.join()}` }
    }
  }
}

/** The outcome of a build without interference: by its decisions and its steps. */
function scripted(history: History, build: BuildRecord): 'success' | 'error' | 'terminated' | 'denied' {
  if (isCancelled(history, build)) return 'terminated'
  if (decisionsIn(build.feed).some(({ decision }) => decision === 'denied')) return 'denied'
  const runs = history.engines.filter(({ buildId }) => buildId === build.id).flatMap(({ steps }) => steps)
  return runs.some(({ verdict }) => verdict === 'error') ? 'error' : 'success'
}

/** A cancel whose response was lost is repeated, and answered with `build-final` if the first one took effect. */
function isCancelled({ operations }: History, build: BuildRecord): boolean {
  if (operations.some((operation) => isAcceptedCancel(operation, build.id))) return true
  const isAsked = operations.some(({ kind, buildId }) => kind === 'terminate' && buildId === build.id)
  return isAsked && build.status === 'terminated' && build.reason === 'cancelled'
}

/** Builds without harm. A run that has none does not test invariant 15. During a run, a later harm can still reduce the number. */
export function countUnharmed(history: Lives): number {
  return history.builds.filter((build) => isFinalBuild(build.status) && !isHarmed(history, build)).length
}

interface Lives {
  readonly builds: readonly Life[]
  readonly harms?: readonly Harm[]
  readonly endedAt: number
}

interface Life extends Pick<BuildRecord, 'id' | 'status' | 'createdAt'> {
  readonly finishedAt?: number | undefined
}

function isHarmed(history: Pick<Lives, 'harms' | 'endedAt'>, build: Life): boolean {
  const from = build.createdAt
  const to = build.finishedAt ?? history.endedAt
  return (history.harms ?? []).some((harm) => {
    if (harm.buildId !== undefined) return harm.buildId === build.id
    return harm.from <= to && harm.to >= from
  })
}

/** 16: every attempt after the first has a cause, a loss by a harm or an approval, and every loss has a cause. */
export function* checkLosses(history: History): Generator<Violation> {
  const { harms } = history
  if (harms === undefined) return
  for (const build of history.builds) {
    const cancelled = isCancelled(history, build)
    // A cancel that the engine does not confirm in time ends its attempt by force.
    const lost = build.attempts.filter(
      ({ result, reason }) => (result === 'lost' || isInfra(reason)) && !(cancelled && reason === 'cancelled'),
    )
    for (const attempt of lost) {
      const trace = history.engines.find((engine) => engine.buildId === build.id && engine.attempt === attempt.number)
      if (!harms.some((harm) => explains(harm, build, attempt.number, trace)))
        yield {
          invariant: 16,
          buildId: build.id,
          message: `attempt ${attempt.number} was lost (${attempt.reason ?? attempt.result}), but nobody harmed it`,
        }
    }
    const waited = build.attempts.filter(({ result }) => result === 'pending-approval').length
    if (build.attempts.length > 1 + lost.length + waited + (cancelled ? 1 : 0))
      yield {
        invariant: 16,
        buildId: build.id,
        message: `${build.attempts.length} attempts after ${lost.length} losses and ${waited} approvals`,
      }
  }
}

function explains(harm: Harm, build: BuildRecord, attempt: number, trace: EngineTrace | undefined): boolean {
  if (harm.buildId !== undefined) return harm.buildId === build.id && harm.attempt === attempt
  const from = trace?.startedAt ?? build.createdAt
  const to = (trace?.endedAt ?? build.finishedAt ?? harm.to) + NOTICE_MS
  return harm.from <= to && harm.to >= from
}

function isInfra(reason: Reason | undefined): boolean {
  return reason !== undefined && REASONS[reason].blame === 'infra'
}

/** 17: the feed has every acknowledged event of a step, once, and none that no engine sent. */
export function* checkEvents(history: History): Generator<Violation> {
  if (history.engines.some(({ told }) => told === undefined)) return
  for (const build of history.builds) {
    const traces = history.engines.filter(({ buildId }) => buildId === build.id)
    const stored = storedEvents(build)
    const expected = new Map<string, boolean>()
    for (const { attempt, told = [], ackedSeq = 0, steps, end } of traces) {
      for (const { seq, ...event } of told) {
        const key = keyOf(attempt, event)
        expected.set(key, seq <= ackedSeq || expected.get(key) === true)
      }
      if (end !== 'finished') continue
      for (const { name: step, status } of steps)
        for (const event of [
          { type: 'step.started', step },
          { type: 'step.finished', step, ...defined({ status }) },
        ])
          expected.set(keyOf(attempt, event), true)
    }
    for (const [key, isDue] of expected) {
      const count = stored.get(key) ?? 0
      if (isDue ? count !== 1 : count > 1)
        yield { invariant: 17, buildId: build.id, message: `the feed has ${count} times: ${key}` }
    }
    for (const key of stored.keys())
      if (!expected.has(key)) yield { invariant: 17, buildId: build.id, message: `no engine told, but the feed has: ${key}` }
  }
}

function storedEvents(build: BuildRecord): Map<string, number> {
  const stored = new Map<string, number>()
  for (const item of build.feed) {
    if (item.kind !== 'event' || item.source !== 'engine' || !/^step\.(started|finished)$/.test(item.type)) continue
    const { step, status } = item.data
    const key = keyOf(item.attempt, { type: item.type, step: String(step), ...(typeof status === 'string' && { status }) })
    stored.set(key, (stored.get(key) ?? 0) + 1)
  }
  return stored
}

function keyOf(attempt: number, event: { readonly type: string; readonly step: string; readonly status?: string }): string {
  return `${attempt} ${event.type} ${event.step}${event.status === undefined ? '' : ` ${event.status}`}`
}

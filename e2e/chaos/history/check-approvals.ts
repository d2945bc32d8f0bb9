/** Invariant 13: decisions about approvals. */
import { isAcceptedCancel } from './check-builds.ts'
import type { BuildRecord, DecideOperation, History, Violation } from './history.ts'

export interface DecisionTrace {
  readonly step: string
  readonly decision: string
  readonly at: number
}

/** Returns the decisions of a feed. A decision that is repeated to an attempt that runs everything again counts once. */
export function decisionsIn(feed: BuildRecord['feed']): DecisionTrace[] {
  return feed.flatMap((item) => {
    if (item.kind !== 'event' || item.type !== 'step.decided' || item.data['repeated'] === true) return []
    return [{ step: String(item.data['step']), decision: String(item.data['decision']), at: item.at }]
  })
}

/** 13: an answered decision is recorded exactly once, no other decision is recorded, and the build ends according to it. */
export function* checkApprovals(history: History): Generator<Violation> {
  const asked = history.operations.filter((operation) => operation.kind === 'decide')
  for (const build of history.builds) {
    const decided = decisionsIn(build.feed)
    const mine = asked.filter(({ buildId }) => buildId === build.id)
    for (const message of wrongDecisions(mine, decided)) yield { invariant: 13, buildId: build.id, message }
    const cancelled = history.operations.some((operation) => isAcceptedCancel(operation, build.id))
    const isDenied = decided.some(({ decision }) => decision === 'denied')
    if (isDenied && !cancelled && build.status !== 'error')
      yield { invariant: 13, buildId: build.id, message: `denied, yet it ended as ${build.status}` }
    if (!isDenied && build.reason === 'denied')
      yield { invariant: 13, buildId: build.id, message: 'ended as denied, but nobody denied it' }
  }
}

function* wrongDecisions(asked: readonly DecideOperation[], decided: readonly DecisionTrace[]): Generator<string> {
  for (const [step, traces] of Map.groupBy(decided, (trace) => trace.step))
    if (traces.length > 1) yield `step ${step} was decided ${traces.length} times`
  for (const { step, decision, result, fault } of asked) {
    const found = decided.find((trace) => trace.step === step)
    if (result === 'unknown') yield `the decision about ${step} was never settled`
    if (result === 'ok' && found?.decision !== decision)
      yield `step ${step} was ${decision} by an answered call, but the record says ${found?.decision ?? 'nothing'}`
    if (fault === 'approval-decided' && (found === undefined || found.decision === decision))
      yield `a call was told that ${step} was decided otherwise, but the record says ${found?.decision ?? 'nothing'}`
  }
  for (const { step, decision } of decided)
    if (!asked.some((operation) => operation.step === step && operation.decision === decision))
      yield `nobody asked for step ${step} to be ${decision}`
}

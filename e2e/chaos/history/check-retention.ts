/** Invariant 18: retention deletes nothing that is younger than its limit, and nothing of a build that has not ended. */
import type { History, Removal, Violation } from './history.ts'

/** 18: a build or log was deleted only after its age. A build that was not seen ended can have ended right after it was last seen. */
export function* checkRetention({ retention }: History): Generator<Violation> {
  if (retention === undefined) return
  const { removed, expired, buildMs, logMs } = retention
  yield* tooYoung('the build', removed, buildMs)
  yield* tooYoung('the log', expired, logMs)
}

function* tooYoung(what: string, removals: readonly Removal[], limitMs: number): Generator<Violation> {
  for (const { buildId, finishedAt, seenAt, at } of removals) {
    const ageMs = at - (finishedAt ?? seenAt)
    const state = finishedAt === undefined ? 'while it was live' : `${ageMs} ms after its end, before ${limitMs} ms`
    if (ageMs < limitMs) yield { invariant: 18, buildId, message: `${what} was deleted ${state}` }
  }
}

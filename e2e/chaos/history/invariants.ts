/**
 * The promises of the system as a machine checks them after every chaos run. Numbers are those of the project's list of invariants;
 * 9 (outbox) and 11 (commit status) have no subject yet.
 *
 *  1 every accepted trigger has exactly one build            6 a concurrency limit is never exceeded at any instant
 *  2 every build is final within its deadline + 60 s         7 stored log bytes are the generated ones: no gap, no double, no loss
 *  3 one final state, never changed, and the earned one      8 nothing is left of a final build; no live build is swept
 *  4 at most one live attempt at any instant                10 no secret anywhere
 *  5 step order respects the graph                          12 every wait carries a reason
 *                                                           13 a decision about an approval is recorded, once, and decides
 */
import type { History, Violation } from './history.ts'
import { checkApprovals } from './check-approvals.ts'
import { checkBuilds, checkDeadlines, checkFinalStates, checkTriggers, checkWaits } from './check-builds.ts'
import { checkLimits, checkLiveAttempts, checkRemains, checkStepOrder } from './check-engines.ts'
import { checkLogs, checkSecrets } from './check-logs.ts'

export const CHECKED_INVARIANTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13] as const

/** All violations of a history; none when the system kept its promises. Pure. */
export function checkInvariants(history: History): Violation[] {
  return [
    ...checkTriggers(history),
    ...checkBuilds(history),
    ...checkDeadlines(history),
    ...checkFinalStates(history),
    ...checkLiveAttempts(history),
    ...checkStepOrder(history),
    ...checkLimits(history),
    ...checkLogs(history),
    ...checkRemains(history),
    ...checkSecrets(history),
    ...checkWaits(history),
    ...checkApprovals(history),
  ]
}

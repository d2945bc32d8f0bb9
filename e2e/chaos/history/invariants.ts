/**
 * The invariants of the system, checked after every chaos run. Numbers 9 (outbox) and 11 (commit status) are reserved for features that do
 * not exist yet.
 *
 *  1 every accepted trigger has exactly one build            6 a concurrency limit is never exceeded at any instant
 *  2 every build is final in time after faults stop          7 stored log bytes are the generated ones: no gap, no duplicate, no loss
 *  3 one final state: permanent, and the correct one         8 a final build leaves no objects; a live build is not removed
 *  4 at most one live attempt at any instant                10 no secret anywhere
 *  5 step order respects the graph                          12 every wait has a reason
 *                                                           13 a decision about an approval is recorded once and takes effect
 * 15 an unharmed build ends as its script says              14 a step's end comes after its last line in the feed
 * 16 an attempt is lost only by a harm; only a loss or an   17 the feed has every acknowledged event of a step, once, and
 *    approval causes another attempt                           none that no engine sent
 * 18 retention deletes nothing of a live build, and nothing that is too young
 */
import type { History, Violation } from './history.ts'
import { checkApprovals } from './check-approvals.ts'
import { checkBuilds, checkDeadlines, checkFinalStates, checkTriggers, checkWaits } from './check-builds.ts'
import { checkLimits, checkLiveAttempts, checkRemains, checkStepOrder } from './check-engines.ts'
import { checkLogs, checkStepEnds } from './check-logs.ts'
import { checkEvents, checkLosses, checkVerdicts } from './check-progress.ts'
import { checkRetention } from './check-retention.ts'
import { checkSecrets } from './check-secrets.ts'

export const CHECKED_INVARIANTS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 16, 17, 18] as const

/** Returns all violations of a history. Pure. */
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
    ...checkStepEnds(history.builds),
    ...checkRemains(history),
    ...checkSecrets(history),
    ...checkWaits(history),
    ...checkApprovals(history),
    ...checkVerdicts(history),
    ...checkLosses(history),
    ...checkEvents(history),
    ...checkRetention(history),
  ]
}

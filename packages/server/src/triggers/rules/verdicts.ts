/** The stored verdicts of a delivery: which triggers were judged, and what became of the delivery. */
import { TriggerVerdict, type NoBuildReason } from '@windlass/protocol'
import { z } from 'zod'
import type { DeliveryRow } from '../../store/schema/schema.ts'
import { isWithin, type Place } from '../../store/places.ts'

/** Maximum number of triggers whose rules are stored. */
const MAX_EXPLAINED = 200
const Verdicts = z.array(TriggerVerdict)

export type DeliveryOutcome = Partial<Pick<DeliveryRow, 'reason' | 'message'>>

/** What becomes of a delivery. */
export interface Outcome extends DeliveryOutcome {
  readonly verdicts?: readonly TriggerVerdict[]
  /** Ids of the pipelines whose triggers were judged. */
  readonly pipelineIds?: readonly string[]
}

const PlaceIds = z.array(z.string())

/** Returns true if a trigger of the place counts. A replay counts for the projects and pipelines in which its caller may start builds. */
export function isReplayedFor({ projects: stored }: Pick<DeliveryRow, 'projects'>, place: Place): boolean {
  if (stored === null) return true
  const ids = PlaceIds.parse(JSON.parse(stored))
  return isWithin({ projects: ids, pipelines: ids }, place)
}

export function noBuild(reason: NoBuildReason, message: string): DeliveryOutcome {
  return { reason, message }
}

/** Returns why a delivery built nothing: the reason of its triggers if it is the same for all of them. Empty if it built. */
export function summarize(verdicts: readonly TriggerVerdict[]): DeliveryOutcome {
  if (verdicts.some(({ reason }) => reason === undefined)) return {}
  const reasons = new Set(verdicts.map(({ reason }) => reason))
  const [first] = verdicts
  return reasons.size === 1 && first?.reason !== undefined
    ? noBuild(first.reason, first.message ?? '')
    : noBuild('no-trigger', `None of ${verdicts.length} triggers builds for this event.`)
}

export function writeVerdicts(verdicts: readonly TriggerVerdict[]): string {
  return JSON.stringify(verdicts.map((verdict, index) => (index < MAX_EXPLAINED ? verdict : { ...verdict, rules: [] })))
}

export function readVerdicts({ verdicts }: Pick<DeliveryRow, 'verdicts'>): TriggerVerdict[] {
  return verdicts === null ? [] : Verdicts.parse(JSON.parse(verdicts))
}

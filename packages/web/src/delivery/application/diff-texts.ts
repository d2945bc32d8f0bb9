/** The two texts of an object that a sync would change. */
import type { ResourceDifference } from '@windlass/protocol'
import { stringify } from 'yaml'

export interface DiffTexts extends Omit<ResourceDifference, 'live' | 'target'> {
  /** As the cluster has it; empty if it does not exist. */
  readonly before: string
  /** As a sync would make it; empty if the sync would delete it. */
  readonly after: string
}

export function toTexts({ live, target, ...object }: ResourceDifference): DiffTexts {
  return { ...object, before: textOf(live), after: textOf(target) }
}

function textOf(state: unknown): string {
  return state === undefined ? '' : stringify(state, { sortMapEntries: true, lineWidth: 0 })
}

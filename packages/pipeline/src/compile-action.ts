/** The fields of a step as the action of a plan step; what each type makes of them stands in `actions/`. */
import type { Action } from '@windlass/plan'
import type { Entries } from './fields.ts'
import { STEP_TYPES } from './language.ts'
import type { ActionPlace } from './step-type.ts'

/** The action of a step whose fields were checked; undefined for types that are not one action, or not run. */
export function toAction(
  type: string,
  entries: Entries,
  place: ActionPlace = { compositions: {}, isStep: () => false },
): Action | undefined {
  return Object.hasOwn(STEP_TYPES, type) ? STEP_TYPES[type]?.toAction?.(entries, place) : undefined
}

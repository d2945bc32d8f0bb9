/** How far a build has come, for lists. */
import { isFinalStep } from '../lists.ts'
import type { Plan, PlanStep } from '../plan.ts'
import { stateOf } from './fold.ts'
import type { Snapshot, StepState } from './snapshot.ts'

/** Counts of the steps that do something themselves: groups and the steps of hooks do not count. */
export interface Progress {
  readonly total: number
  /** Steps that have ended, with any result. */
  readonly done: number
  /** Steps among them that failed. */
  readonly failed: number
  /** The step that started last among those that run or wait. */
  readonly current?: string
  /** The step that the debugger holds, the longest one if there are several, and since when. Epoch milliseconds. */
  readonly held?: { readonly step: string; readonly since: number }
}

/** Returns the progress of a build in this state. */
export function progressOf(plan: Plan, snapshot: Snapshot): Progress {
  let done = 0
  let failed = 0
  let current: { readonly name: string; readonly since: number } | undefined
  let held: Progress['held']
  const counted = countedSteps(plan)
  for (const { name } of counted) {
    const state = stateOf(snapshot, name)
    if (isFinalStep(state.status)) done += 1
    if (state.status === 'error') failed += 1
    if (state.status === 'waiting' && state.reason === 'debugger' && (state.waitingSince ?? 0) < (held?.since ?? Infinity))
      held = { step: name, since: state.waitingSince ?? 0 }
    const since = activeSince(state)
    if (since !== undefined && since >= (current?.since ?? -Infinity)) current = { name, since }
  }
  return {
    total: counted.length,
    done,
    failed,
    ...(current !== undefined && { current: current.name }),
    ...(held !== undefined && { held }),
  }
}

function countedSteps({ steps }: Plan): PlanStep[] {
  const hooks = new Set<string>()
  // Parents come before their children.
  for (const { name, hook, parent } of steps)
    if (hook !== undefined || (parent !== undefined && hooks.has(parent))) hooks.add(name)
  return steps.filter(({ name, action }) => action.kind !== 'group' && !hooks.has(name))
}

function activeSince({ status, runningSince, waitingSince }: StepState): number | undefined {
  if (status !== 'running' && status !== 'waiting') return undefined
  return Math.max(runningSince ?? 0, waitingSince ?? 0)
}

/** Edges of the plan graph. */
import type { Preview } from '@windlass/plan'

export interface Edge {
  readonly from: string
  readonly to: string
  readonly isHook: boolean
}

export function edgesOf({ steps }: Preview): Edge[] {
  return steps.flatMap(({ name, after, hook }) => [
    ...after.map((from) => ({ from, to: name, isHook: false })),
    ...(hook?.of === undefined ? [] : [{ from: hook.of, to: name, isHook: true }]),
  ])
}

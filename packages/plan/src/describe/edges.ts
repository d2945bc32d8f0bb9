/** Edges of the plan graph. */
import type { Preview } from '../preview/preview.ts'

/** A line of the graph: `to` waits for `from`, or is a hook of it. */
export interface Edge {
  readonly from: string
  readonly to: string
  readonly isHook: boolean
}

/** Returns the lines between the steps of a plan, in the order of the steps. */
export function edgesOf({ steps }: Pick<Preview, 'steps'>): Edge[] {
  return steps.flatMap(({ name, after, hook }) => [
    ...after.map((from) => ({ from, to: name, isHook: false })),
    ...(hook?.of === undefined ? [] : [{ from: hook.of, to: name, isHook: true }]),
  ])
}

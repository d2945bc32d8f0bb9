/** Which steps of a build are rows, and what a folded group says about the steps inside it. Pure. */
import { toTree, type Branch } from '@windlass/plan'
import type { BuildStep } from '@windlass/protocol'

/** Above this number of steps groups start folded, except those around the step that is shown. */
const MANY = 150

/** Returns the names of the groups that start folded. */
export function foldedAtFirst(steps: readonly BuildStep[], shown: string | undefined): ReadonlySet<string> {
  if (steps.length <= MANY) return new Set()
  const parentOf = new Map(steps.map(({ name, parent }) => [name, parent]))
  const folded = new Set(steps.flatMap(({ parent }) => parent ?? []))
  for (let at = shown; at !== undefined; at = parentOf.get(at)) folded.delete(at)
  return folded
}

/** Returns the rows that no folded group hides. */
export function rowsOf(steps: readonly BuildStep[], folded: ReadonlySet<string>): Branch<BuildStep>[] {
  const shown: Branch<BuildStep>[] = []
  let hiddenBelow = Infinity
  for (const row of toTree(steps)) {
    if (row.depth > hiddenBelow) continue
    hiddenBelow = folded.has(row.step.name) ? row.depth : Infinity
    shown.push(row)
  }
  return shown
}

const WORDS: Readonly<Record<string, string>> = {
  success: 'succeeded',
  error: 'failed',
  terminated: 'terminated',
  skipped: 'skipped',
  running: 'running',
  waiting: 'waiting',
  pending: 'not started',
}

/** Returns what became of the steps directly inside each group, such as `48: 46 succeeded, 2 failed`. */
export function countsOf(steps: readonly BuildStep[]): ReadonlyMap<string, string> {
  const children = Map.groupBy(
    steps.filter(({ parent }) => parent !== undefined),
    ({ parent }) => parent ?? '',
  )
  return new Map([...children].map(([name, inside]) => [name, countText(inside)]))
}

function countText(steps: readonly BuildStep[]): string {
  const counts = Map.groupBy(steps, ({ status }) => WORDS[status] ?? status)
  return `${steps.length}: ${[...counts].map(([word, { length }]) => `${length} ${word}`).join(', ')}`
}

/** What can be said about steps that ask for each other before anything runs: whether the asked one can be done then, and circles. */
import type { PlanStep } from '@windlass/plan'
import type { Report } from './report.ts'
import type { Draft, Drafting } from './step-draft.ts'
import type { TreeNode } from './tree.ts'

/** What an asked step is when a step that asks starts. `unknown` where nothing can be said. */
export type Standing = 'done' | 'around' | 'beside' | 'later' | 'inside' | 'itself' | 'unknown'

/** Where `asked` stands when `from` is considered, by order and groups alone. */
export function standingOf(asked: Draft, from: Draft, drafting: Drafting): Standing {
  if (asked === from) return 'itself'
  if (asked === from.hookOf) return 'done'
  const mine = ancestorsOf(from)
  const theirs = ancestorsOf(asked)
  if (mine.includes(asked)) return 'around'
  if (theirs.includes(from)) return 'inside'
  const group = mine.find((one) => theirs.includes(one))
  if (group === undefined && (isInHook(from) || isInHook(asked))) return 'unknown'
  if (drafting.mode === 'parallel' && !isInHook(from)) return 'unknown'
  const a = mine[group === undefined ? mine.length - 1 : mine.indexOf(group) - 1]
  const b = theirs[group === undefined ? theirs.length - 1 : theirs.indexOf(group) - 1]
  if (group?.body.kind === 'group' && group.body.mode === 'parallel') return group.body.made === 'hook' ? 'unknown' : 'beside'
  return (b?.order ?? 0) < (a?.order ?? 0) ? 'done' : 'later'
}

function ancestorsOf(draft: Draft): Draft[] {
  const all: Draft[] = []
  for (let one: Draft | undefined = draft; one !== undefined; one = one.parent) all.push(one)
  return all
}

function isInHook(draft: Draft): boolean {
  return ancestorsOf(draft).at(-1)?.hook !== undefined
}

/** A step and those whose end it waits for, with how many of them suffice. */
interface Waiting {
  readonly draft: Draft
  readonly match: 'all' | 'any'
  readonly of: readonly Draft[]
}

/**
 * Circles of steps that wait for each other, in a pipeline whose steps wait (`mode: parallel`). A step can start once all (or any) of those
 * that it waits for could; what is left over at the end, and can be reached again from itself, is a circle. Linear in steps and waits.
 */
function findCircles(waits: readonly Waiting[]): Draft[][] {
  const byDraft = new Map(waits.map((one) => [one.draft, one]))
  const stuck = findStuck(waits, byDraft)
  const circles: Draft[][] = []
  const seen = new Set<Draft>()
  for (const { draft } of waits) {
    if (!stuck.has(draft) || seen.has(draft)) continue
    const trail: Draft[] = []
    const places = new Map<Draft, number>()
    let at: Draft | undefined = draft
    while (at !== undefined && !seen.has(at)) {
      seen.add(at)
      places.set(at, trail.length)
      trail.push(at)
      at = blockersOf(at, byDraft).find((one) => stuck.has(one))
    }
    const start = at === undefined ? undefined : places.get(at)
    if (start !== undefined) circles.push(trail.slice(start))
  }
  return circles
}

function blockersOf(draft: Draft, byDraft: ReadonlyMap<Draft, Waiting>): readonly Draft[] {
  const own = byDraft.get(draft)?.of ?? []
  return draft.parent === undefined ? own : [...own, draft.parent]
}

/** Steps that can never start. */
function findStuck(waits: readonly Waiting[], byDraft: ReadonlyMap<Draft, Waiting>): Set<Draft> {
  const waiters = Map.groupBy(
    waits.flatMap(({ draft, of }) => of.map((asked) => ({ draft, asked }))),
    ({ asked }) => asked,
  )
  const open = new Map(waits.map(({ draft, match, of }) => [draft, of.length === 0 ? 0 : match === 'all' ? of.length : 1]))
  const stuck = new Set(byDraft.keys())
  const free = waits.filter(({ draft }) => (open.get(draft) ?? 0) === 0).map(({ draft }) => draft)
  const release = (draft: Draft): void => {
    if (!stuck.has(draft) || (open.get(draft) ?? 0) > 0 || (draft.parent !== undefined && stuck.has(draft.parent))) return
    stuck.delete(draft)
    free.push(draft, ...draft.children)
    for (const waiter of waiters.get(draft) ?? []) {
      const left = (open.get(waiter.draft) ?? 0) - 1
      open.set(waiter.draft, left)
      if (left === 0) free.push(waiter.draft)
    }
  }
  for (let next = free.pop(); next !== undefined; next = free.pop()) release(next)
  return stuck
}

/** Reports steps of `spec.debug.steps` that do not exist. */
export function checkBreakpoints(steps: TreeNode | undefined, { names }: Drafting, report: Report): void {
  if (steps?.kind !== 'map') return
  for (const { key, keyRange } of steps.entries.values()) {
    if (names.find(key, undefined) !== undefined) continue
    const close = names.suggest(key)
    report.error(
      'unknown-step',
      keyRange,
      `there is no step "${key}"${close === undefined ? '' : `. Did you mean "${close}"?`}`,
      {
        path: `spec.debug.steps.${key}`,
        ...(close !== undefined && { suggestion: { from: key, to: close } }),
      },
    )
  }
}

/** Reports each circle once, at its first step. */
export function reportCircles(steps: readonly PlanStep[], drafting: Drafting): void {
  const waits: Waiting[] = []
  for (const { name, when } of steps) {
    const draft = drafting.names.find(name, undefined)
    if (draft === undefined || isInHook(draft)) continue
    const asked = (when?.steps?.of ?? []).map((condition) => ({
      ...condition,
      draft: drafting.names.find(condition.name, draft),
    }))
    const waiting = asked.filter(
      (one) => one.draft !== undefined && standingOf(one.draft, draft, drafting) === 'unknown' && !one.on.includes('pending'),
    )
    const match = when?.steps?.match ?? 'all'
    const isFree = match === 'any' && waiting.length < asked.length
    waits.push({ draft, match, of: isFree ? [] : waiting.flatMap((one) => one.draft ?? []) })
  }
  for (const circle of findCircles(waits)) {
    const [first] = circle
    if (first === undefined) continue
    const shown = [...circle.slice(0, 10), ...(circle.length > 10 ? [] : [first])].map(({ key }) => key)
    first.report.error(
      'dependency-circle',
      first.range,
      `steps wait for each other in a circle: ${shown.join(' -> ')}${circle.length > 10 ? ' -> …' : ''}`,
      {
        path: `${first.path}.when`,
        hint: 'Remove one of the conditions.',
      },
    )
  }
}

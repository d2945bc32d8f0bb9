/** Static checks of conditions on other steps: whether the other step can have ended, and cycles. */
import type { PlanStep } from '@windlass/plan'
import { didYouMean } from '../language/did-you-mean.ts'
import type { Report } from '../syntax/report.ts'
import type { Draft } from './step-draft.ts'
import type { TreeNode } from '../syntax/tree.ts'
import type { Drafting } from './drafting.ts'

/** Position of another step relative to a step whose condition names it. `unknown` if it cannot be decided statically. */
export type RelativePosition = 'done' | 'around' | 'beside' | 'later' | 'inside' | 'itself' | 'unknown'

/** Returns the position of `target` when `from` is considered, based on order and groups. */
export function relativePositionOf(target: Draft, from: Draft, drafting: Drafting): RelativePosition {
  if (target === from) return 'itself'
  if (target === from.hookOf) return 'done'
  const mine = ancestorsOf(from)
  const theirs = ancestorsOf(target)
  if (mine.includes(target)) return 'around'
  if (theirs.includes(from)) return 'inside'
  const group = mine.find((one) => theirs.includes(one))
  if (group === undefined && (isInHook(from) || isInHook(target))) return 'unknown'
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

/** A step and the steps whose end it waits for: all of them, or any. */
interface Waiting {
  readonly draft: Draft
  readonly match: 'all' | 'any'
  readonly of: readonly Draft[]
}

/**
 * Finds cycles of steps that wait for each other in `mode: parallel`. A step can start once all (or any) of the steps it waits for could start;
 * of the remaining steps, those that are reachable from themselves form a cycle. Linear in steps and waits.
 */
function findCycles(waits: readonly Waiting[]): Draft[][] {
  const byDraft = new Map(waits.map((one) => [one.draft, one]))
  const stuck = findStuck(waits, byDraft)
  const cycles: Draft[][] = []
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
    if (start !== undefined) cycles.push(trail.slice(start))
  }
  return cycles
}

function blockersOf(draft: Draft, byDraft: ReadonlyMap<Draft, Waiting>): readonly Draft[] {
  const own = byDraft.get(draft)?.of ?? []
  return draft.parent === undefined ? own : [...own, draft.parent]
}

/** Returns the steps that can never start. */
function findStuck(waits: readonly Waiting[], byDraft: ReadonlyMap<Draft, Waiting>): Set<Draft> {
  const waiters = Map.groupBy(
    waits.flatMap(({ draft, of }) => of.map((target) => ({ draft, target }))),
    ({ target }) => target,
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
    report.error('unknown-step', keyRange, `step "${key}" does not exist${didYouMean(close)}`, {
      path: `spec.debug.steps.${key}`,
      ...(close !== undefined && { suggestion: { from: key, to: close } }),
    })
  }
}

/** Reports each cycle once, at its first step. */
export function reportCycles(steps: readonly PlanStep[], drafting: Drafting): void {
  const waits: Waiting[] = []
  for (const { name, when } of steps) {
    const draft = drafting.names.find(name, undefined)
    if (draft === undefined || isInHook(draft)) continue
    const target = (when?.steps?.of ?? []).map((condition) => ({
      ...condition,
      draft: drafting.names.find(condition.name, draft),
    }))
    const waiting = target.filter(
      (one) =>
        one.draft !== undefined && relativePositionOf(one.draft, draft, drafting) === 'unknown' && !one.on.includes('pending'),
    )
    const match = when?.steps?.match ?? 'all'
    const isFree = match === 'any' && waiting.length < target.length
    waits.push({ draft, match, of: isFree ? [] : waiting.flatMap((one) => one.draft ?? []) })
  }
  for (const cycle of findCycles(waits)) {
    const [first] = cycle
    if (first === undefined) continue
    const shown = [...cycle.slice(0, 10), ...(cycle.length > 10 ? [] : [first])].map(({ key }) => key)
    first.report.error(
      'dependency-circle',
      first.range,
      `steps wait for each other in a cycle: ${shown.join(' -> ')}${cycle.length > 10 ? ' -> …' : ''}`,
      {
        path: `${first.path}.when`,
        hint: 'Remove one of the conditions.',
      },
    )
  }
}

/** Compiles `success_criteria` of groups and of the document. */
import type { SuccessCriteria } from '@windlass/plan'
import { toCondition } from './compile-when.ts'
import type { ExpressionPlace } from './compile-when.ts'
import { didYouMean } from '../language/did-you-mean.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import type { Draft } from '../draft/step-draft.ts'
import type { TreeNode } from '../syntax/tree.ts'
import { textOf } from '../syntax/tree.ts'

/**
 * Returns the success criteria for the plan, or undefined if there are none. Warns about steps that are not among `children`: criteria that require one
 * are never met, which a condition that is always false says.
 */
export function toCriteria(entries: Entries, children: readonly Draft[], outer: ExpressionPlace): SuccessCriteria | undefined {
  const written = read.map(entries, 'success_criteria')
  if (written === undefined) return undefined
  const place = { ...outer, path: outer.path === '' ? 'success_criteria' : `${outer.path}.success_criteria` }
  const steps = read.node(written.entries, 'steps')
  const condition = read.map(written.entries, 'condition')
  const only = steps?.kind === 'list' ? steps : steps?.kind === 'map' ? steps.entries.get('only')?.value : undefined
  const ignore = steps?.kind === 'map' ? steps.entries.get('ignore')?.value : undefined
  const required = toNames(only, children, { ...place, effect: ', so the criteria are never met' })
  const ignored = toNames(ignore, children, { ...place, effect: '' })
  const own = condition === undefined ? undefined : toCondition(condition, place)
  const unmet = Object.fromEntries((required?.missing ?? []).map((name) => [`step "${name}" exists`, 'false']))
  return {
    ...read.when('only', required?.found),
    ...read.when('ignore', ignored?.found),
    ...read.when('condition', Object.keys(unmet).length === 0 ? own : { ...own, all: { ...own?.all, ...unmet } }),
  }
}

function toNames(
  list: TreeNode | undefined,
  children: readonly Draft[],
  { report, path, drafting, effect }: ExpressionPlace & { readonly effect: string },
): { readonly found: readonly string[]; readonly missing: readonly string[] } | undefined {
  if (list?.kind !== 'list') return undefined
  const known = new Map(children.map((child) => [child.key, child.name]))
  const [found, missing]: [string[], string[]] = [[], []]
  for (const item of list.items) {
    const name = textOf(item)
    if (name === undefined) continue
    const child = known.get(name)
    if (child !== undefined) {
      found.push(child)
      continue
    }
    missing.push(name)
    const close = drafting.names.suggestAmong(name, children, () => known.keys())
    report.warning('unknown-step', item.range, `step "${name}" does not exist here${effect}${didYouMean(close)}`, {
      path: `${path}.steps`,
      hint: 'Name steps that are directly inside.',
      ...(close !== undefined && { suggestion: { from: name, to: close } }),
    })
  }
  return { found, missing }
}

/** `success_criteria` of groups and of the document. */
import type { SuccessCriteria } from '@windlass/plan'
import { toCondition } from './compile-when.ts'
import type { ExpressionPlace } from './compile-when.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { Draft } from './step-draft.ts'
import type { TreeNode } from './tree.ts'
import { textOf } from './tree.ts'

/** The criteria as the plan has them; undefined when there are none. Reports steps that are not among `children`. */
export function toCriteria(entries: Entries, children: readonly Draft[], outer: ExpressionPlace): SuccessCriteria | undefined {
  const written = read.map(entries, 'success_criteria')
  if (written === undefined) return undefined
  const place = { ...outer, path: outer.path === '' ? 'success_criteria' : `${outer.path}.success_criteria` }
  const steps = read.node(written.entries, 'steps')
  const condition = read.map(written.entries, 'condition')
  const only = steps?.kind === 'list' ? steps : steps?.kind === 'map' ? steps.entries.get('only')?.value : undefined
  const ignore = steps?.kind === 'map' ? steps.entries.get('ignore')?.value : undefined
  return {
    ...read.when('only', toNames(only, children, place)),
    ...read.when('ignore', toNames(ignore, children, place)),
    ...read.when('condition', condition === undefined ? undefined : toCondition(condition, place)),
  }
}

function toNames(
  list: TreeNode | undefined,
  children: readonly Draft[],
  { report, path, drafting }: ExpressionPlace,
): string[] | undefined {
  if (list?.kind !== 'list') return undefined
  const known = new Map(children.map((child) => [child.key, child.name]))
  return list.items.flatMap((item) => {
    const name = textOf(item)
    if (name === undefined) return []
    const found = known.get(name)
    if (found !== undefined) return [found]
    const close = drafting.names.suggestAmong(name, known.keys())
    report.error(
      'unknown-step',
      item.range,
      `there is no step "${name}" here${close === undefined ? '' : `. Did you mean "${close}"?`}`,
      {
        path: `${path}.steps`,
        hint: 'Only the steps directly inside count.',
        ...(close !== undefined && { suggestion: { from: name, to: close } }),
      },
    )
    return []
  })
}

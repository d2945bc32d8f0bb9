/** Rules that several step types share and that the tables of the language cannot say. */
import { findReferences } from '@windlass/plan'
import { currentValue, isVariable } from './check.ts'
import type { DiagnosticCode } from './diagnostic.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { RulePlace } from './step-type.ts'
import { textOf } from './tree.ts'
import type { TreeNode } from './tree.ts'

export type Spot = Pick<RulePlace, 'report' | 'path'>

/** Reports `field` when `peer` is written too. */
export function excludes(entries: Entries, [field, peer]: readonly [string, string], { report, path }: Spot): void {
  const entry = entries.get(field)
  if (entry === undefined || !entries.has(peer)) return
  report.error('conflict', entry.keyRange, `"${field}" conflict with forbidden peer "${peer}"`, {
    path: `${path}.${field}`,
    hint: 'Keep one of them.',
  })
}

/** Reports each text of a list for which `problemOf` has a word. Texts that are one variable pass. */
export function eachText(
  entries: Entries,
  key: string,
  { report, path, problemOf }: Spot & { readonly problemOf: (text: string) => string | undefined },
): void {
  const list = read.node(entries, key)
  for (const [index, item] of (list?.kind === 'list' ? list.items : []).entries()) {
    const text = textOf(item)
    if (text === undefined || text.trim() === '' || isVariable(text)) continue
    const problem = problemOf(text)
    if (problem !== undefined)
      report.error('invalid-value', item.range, `"${index}" ${problem}${currentValue(item)}`, {
        path: `${path}.${key}[${index}]`,
      })
  }
}

/** `NAME=VALUE`, the value possibly empty. */
export function nameAndValue(text: string): string | undefined {
  return /^[^=]+=/.test(text) ? undefined : 'must have the form NAME=VALUE'
}

/** Reports a field that another type has under a name that differs by an `s` alone. */
export function refuses(entries: Entries, [wrong, right]: readonly [string, string], { report, path }: Spot): void {
  const entry = entries.get(wrong)
  if (entry === undefined) return
  report.error('not-allowed', entry.keyRange, `'${wrong}' not allowed. Did you mean "${right}"?`, {
    path: `${path}.${wrong}`,
    suggestion: { from: wrong, to: right },
  })
}

/** Image names are lower case; variables in them do not count. */
export function warnOfUppercase(entries: Entries, { report, path }: Spot): void {
  const name = read.text(entries, 'image_name')
  const written = read.node(entries, 'image_name')
  if (name === undefined || written === undefined) return
  let plain = name
  let lower = name.toLowerCase()
  for (const { start, end } of findReferences(name).toReversed()) {
    plain = plain.slice(0, start) + plain.slice(end)
    lower = lower.slice(0, start) + name.slice(start, end) + lower.slice(end)
  }
  if (plain === plain.toLowerCase()) return
  report.warning('uppercase-image', written.range, `"image_name" must be lower case. Current value: ${name}`, {
    path: `${path}.image_name`,
    hint: 'It is used in lower case.',
    suggestion: { from: name, to: lower },
  })
}

/** True for a field that is written, not null and not false; a variable may be either and counts as true. */
export function isOn(entries: Entries, key: string): boolean {
  const value = read.node(entries, key)
  return value !== undefined && read.flag(entries, key) !== false
}

/** Reports a value that has the right type but not the right form. */
export function reportValue(
  node: TreeNode,
  { report, path, code = 'invalid-value' }: Spot & { readonly code?: DiagnosticCode },
  message: string,
): void {
  report.error(code, node.range, `${message}${currentValue(node)}`, { path })
}

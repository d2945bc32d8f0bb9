/** Rules that several step types share and that the field tables cannot express. */
import { findReferences } from '@windlass/plan'
import { currentValue, isVariable } from './check.ts'
import type { DiagnosticCode } from './diagnostic.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import type { RulePlace } from './step-type.ts'
import { textOf } from '../syntax/tree.ts'
import type { TreeNode } from '../syntax/tree.ts'

export type Spot = Pick<RulePlace, 'report' | 'path'>

/** Reports `field` if `peer` is set too. */
export function excludes(entries: Entries, [field, peer]: readonly [string, string], { report, path }: Spot): void {
  const entry = entries.get(field)
  if (entry === undefined || !entries.has(peer)) return
  report.error('conflict', entry.keyRange, `"${field}" conflict with forbidden peer "${peer}"`, {
    path: `${path}.${field}`,
    hint: 'Keep one of them.',
  })
}

/** Reports each text of a list for which `problemOf` returns a problem. Texts that consist of one variable pass. */
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
      report.error('invalid-value', item.range, `"${key}[${index}]" ${problem}${currentValue(item)}`, {
        path: `${path}.${key}[${index}]`,
      })
  }
}

/** Returns a problem unless the text is `NAME=VALUE`; the value may be empty. */
export function nameAndValue(text: string): string | undefined {
  return /^[^=]+=/.test(text) ? undefined : 'must have the form NAME=VALUE'
}

/** Returns a problem unless the text is `NAME=VALUE` or `NAME`. As in Docker, a name alone stands for the variable of this name that exists already. */
export function environmentEntry(text: string): string | undefined {
  return /^[^=\s]+$/.test(text) || text.includes('${{') ? undefined : nameAndValue(text)
}

/** Reports a field whose name on this type differs only by an `s`. */
export function refuses(entries: Entries, [wrong, right]: readonly [string, string], { report, path }: Spot): void {
  const entry = entries.get(wrong)
  if (entry === undefined) return
  report.error('not-allowed', entry.keyRange, `'${wrong}' not allowed. Did you mean "${right}"?`, {
    path: `${path}.${wrong}`,
    suggestion: { from: wrong, to: right },
  })
}

/** Warns about upper-case letters in an image name, ignoring variables. */
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
    hint: 'The name is converted to lower case.',
    suggestion: { from: name, to: lower },
  })
}

/** Returns true for a field that is set and neither null nor false. A variable counts as true. */
export function isOn(entries: Entries, key: string): boolean {
  const value = read.node(entries, key)
  return value !== undefined && read.flag(entries, key) !== false
}

/** Reports a value that has the right type but an invalid form. */
export function reportValue(
  node: TreeNode,
  { report, path, code = 'invalid-value' }: Spot & { readonly code?: DiagnosticCode },
  message: string,
): void {
  report.error(code, node.range, `${message}${currentValue(node)}`, { path })
}

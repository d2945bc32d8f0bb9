/** Normalizes the fields of a step: moves `arguments` to the step and renames aliases. */
import type { Report } from '../syntax/report.ts'
import type { BuiltInStepType } from '../language/step-type.ts'
import { typeFields } from '../language/type-fields.ts'
import type { TypeFields } from '../language/type-fields.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'

interface Spot {
  readonly report: Report
  /** Path of the step, such as `steps.test`. */
  readonly path: string
}

/** Returns the fields of a step with `arguments` moved to the step and aliases renamed. */
export function stepEntries(step: MapNode, type: BuiltInStepType | undefined, { report, path }: Spot): Map<string, Entry> {
  const entries = new Map(step.entries)
  const inner = step.entries.get('arguments')?.value
  if (type !== undefined && inner !== undefined) {
    entries.delete('arguments')
    if (inner.kind === 'map') flatten(inner, entries, { report, path: `${path}.arguments` })
    else if (!isNull(inner))
      report.error('wrong-type', inner.range, '"arguments" must be an object', { path: `${path}.arguments` })
  }
  renameAll(entries, typeFields(type).aliases, { report, path })
  return entries
}

/** Renames aliases. Reports an alias that is used together with its own name. */
export function renameAll(entries: Map<string, Entry>, aliases: TypeFields['aliases'], spot: Spot): void {
  for (const alias of aliases) if (entries.has(alias.from)) rename(entries, alias, spot)
}

/** Moves `arguments` to the step, common fields included. A field of the step itself takes precedence, as in Codefresh. */
function flatten(inner: MapNode, entries: Map<string, Entry>, { report, path }: Spot): void {
  for (const entry of inner.entries.values()) {
    if (!entries.has(entry.key)) entries.set(entry.key, entry)
    else
      report.warning('conflict', entry.keyRange, `"${entry.key}" is also set on the step, which takes precedence`, {
        path: `${path}.${entry.key}`,
        hint: 'Keep one of them.',
      })
  }
}

function rename(entries: Map<string, Entry>, { from, to }: { from: string; to: string }, { report, path }: Spot): void {
  const old = entries.get(from)
  if (old === undefined) return
  entries.delete(from)
  if (!entries.has(to)) {
    entries.set(to, { ...old, key: to })
    return
  }
  report.error('conflict', old.keyRange, `"${from}" is an alias of "${to}", which is set too`, {
    path: path === '' ? from : `${path}.${from}`,
    hint: 'Keep one of them.',
  })
}

function isNull(node: TreeNode): boolean {
  return node.kind === 'scalar' && node.value === null
}

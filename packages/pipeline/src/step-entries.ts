/** The fields of a step under their own names: `arguments` written out, older spellings renamed. */
import { COMMON } from './language.ts'
import type { Report } from './report.ts'
import type { StepType } from './step-type.ts'
import { typeFields } from './type-fields.ts'
import type { TypeFields } from './type-fields.ts'
import type { Entry, MapNode, TreeNode } from './tree.ts'

interface Spot {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
}

/** The fields of a step with `arguments` written out and other spellings renamed. */
export function stepEntries(step: MapNode, type: StepType | undefined, { report, path }: Spot): Map<string, Entry> {
  const entries = new Map(step.entries)
  const inner = step.entries.get('arguments')?.value
  if (type !== undefined && inner !== undefined) {
    entries.delete('arguments')
    const isOwn = (key: string): boolean => Object.hasOwn(type.fields, key)
    if (inner.kind === 'map') flatten(inner, entries, { report, path: `${path}.arguments`, isOwn })
    else if (!isNull(inner))
      report.error('wrong-type', inner.range, '"arguments" must be an object', { path: `${path}.arguments` })
  }
  renameAll(entries, typeFields(type).aliases, { report, path })
  return entries
}

/** Gives fields that are written in an older spelling their own name; both at once is reported. */
export function renameAll(entries: Map<string, Entry>, aliases: TypeFields['aliases'], spot: Spot): void {
  for (const alias of aliases) if (entries.has(alias.from)) rename(entries, alias, spot)
}

/** Fields of every step may stand in `arguments` only where the type has one of that name itself (`isOwn`), such as the `timeout` of an approval. */
function flatten(
  inner: MapNode,
  entries: Map<string, Entry>,
  { report, path, isOwn }: Spot & { readonly isOwn: (key: string) => boolean },
): void {
  for (const entry of inner.entries.values()) {
    const where = { path: `${path}.${entry.key}` }
    if (Object.hasOwn(COMMON, entry.key) && !isOwn(entry.key)) {
      report.error('not-allowed', entry.keyRange, `"${entry.key}" is not allowed inside "arguments"`, {
        ...where,
        hint: 'Move it to the step itself.',
      })
    } else if (entries.has(entry.key)) {
      report.error('conflict', entry.keyRange, `"${entry.key}" stands on the step and inside "arguments"`, {
        ...where,
        hint: 'Keep one of them.',
      })
    } else {
      entries.set(entry.key, entry)
    }
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
  report.error('conflict', old.keyRange, `"${from}" is another spelling of "${to}", which is written too`, {
    path: path === '' ? from : `${path}.${from}`,
    hint: 'Keep one of them.',
  })
}

function isNull(node: TreeNode): boolean {
  return node.kind === 'scalar' && node.value === null
}

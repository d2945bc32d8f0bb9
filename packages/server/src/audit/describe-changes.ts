/** What a write changes, field by field, for the audit log. */

/** Maximum characters of a value. */
const MAX_VALUE = 80

/** Values that say nothing about a new thing. */
const EMPTY: ReadonlySet<string> = new Set(['none', 'false', '[]', '{}'])

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the fields that differ, such as `push: branchRegex main -> next, disabled false -> true`, or that the thing is new. The caller must leave out or mask
 * secrets.
 */
export function describeChanges(name: string, before: Fields | undefined, after: Fields): string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after)])]
  const changes = names.flatMap((field) => {
    const [old, next] = [show(before?.[field]), show(after[field])]
    if (old === next) return []
    if (before !== undefined) return [`${field} ${old} -> ${next}`]
    return EMPTY.has(next) ? [] : [`${field} ${next}`]
  })
  if (before === undefined) return `${name}, new: ${changes.join(', ')}`
  return `${name}: ${changes.length === 0 ? 'no change' : changes.join(', ')}`
}

function show(value: unknown): string {
  const text = value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text
}

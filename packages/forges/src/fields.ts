/** Reading of fields in what forges send, which may have any shape. */
import { isRecord } from '@windlass/kit/json'

/** Longest text that is taken over. Commit messages are the longest. */
const MAX_TEXT = 65_536

/** Returns the value at a path of keys. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value
  for (const key of path) {
    if (!isRecord(found) || !Object.hasOwn(found, key)) return undefined
    found = found[key]
  }
  return found
}

/** Returns the text or number at a path as text. Undefined for other values and an empty text. */
export function text(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path)
  if (typeof found === 'number') return String(found)
  // PostgreSQL stores no NUL.
  return typeof found === 'string' && found !== '' ? found.slice(0, MAX_TEXT).replaceAll('\0', '') : undefined
}

/** Returns the text at a path if it is the address of a page. Others, such as `javascript:`, would run in the page that links to them. */
export function webAddress(value: unknown, ...path: readonly string[]): string | undefined {
  const found = text(value, ...path)
  return found !== undefined && /^https?:\/\//i.test(found) ? found : undefined
}

export function flag(value: unknown, ...path: readonly string[]): boolean | undefined {
  const found = at(value, ...path)
  return typeof found === 'boolean' ? found : undefined
}

export function list(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** Returns the texts of a field of each item, separated by commas. Undefined for an empty list. */
export function joined(items: readonly unknown[], ...path: readonly string[]): string | undefined {
  const texts = items.flatMap((item) => text(item, ...path) ?? [])
  return texts.length === 0 ? undefined : texts.join(',').slice(0, MAX_TEXT)
}

/** Splits `group/sub/name` into the owner and the name. */
export function splitRepo(full: string | undefined): { repo: string; repoOwner: string; repoName: string } | undefined {
  const slash = full?.lastIndexOf('/') ?? -1
  if (full === undefined || slash <= 0 || slash === full.length - 1 || full.length > 400) return undefined
  return { repo: full, repoOwner: full.slice(0, slash), repoName: full.slice(slash + 1) }
}

/** The hash that a push event has instead of a commit if a branch begins or ends with it. */
export function isNoCommit(hash: string | undefined): boolean {
  return hash === undefined || /^0+$/.test(hash)
}

/** Returns true for a complete hash. A prefix does not identify a commit, because another one with the same prefix can be made. */
export function isCommit(revision: string | undefined): revision is string {
  return revision !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(revision)
}

/** Splits a full ref. Undefined for refs that are neither branches nor tags. */
export function readRef(ref: string | undefined): { readonly name: string; readonly isTag: boolean } | undefined {
  const match = /^refs\/(heads|tags)\/(.+)$/s.exec(ref ?? '')
  return match?.[2] === undefined ? undefined : { name: match[2], isTag: match[1] === 'tags' }
}

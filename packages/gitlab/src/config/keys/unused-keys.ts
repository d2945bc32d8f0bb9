/** Keys that a configuration sets and that have no effect. */
import { isRecord } from '@windlass/kit/json'
import { defined } from '@windlass/kit'
import { KEY_USES } from './key-uses.ts'
import type { Remark } from '../semantics.ts'
import type { Path } from './toml-lines.ts'

/** Returns a warning for each key that is set and not used, in the order of the configuration. */
export function unusedKeys(value: unknown, path: Path = []): Remark[] {
  if (Array.isArray(value)) return value.flatMap((item, n) => unusedKeys(item, [...path, n]))
  if (path.length > 0) {
    const use = KEY_USES[path.filter((part) => typeof part === 'string').join('.')]
    if (use?.use === 'used') return []
    if (use !== undefined) {
      if (requestsNothing(value) || value === use.standard) return []
      const message = `the key "${String(path.at(-1))}" has no effect: ${use.reason}`
      return [
        { severity: 'warning', path, message, ...defined({ hint: use.action === undefined ? undefined : `${use.action}.` }) },
      ]
    }
  }
  return isRecord(value) ? Object.entries(value).flatMap(([key, below]) => unusedKeys(below, [...path, key])) : []
}

/** Returns true for a value that the original treats as absent. */
function requestsNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isRecord(value)) return Object.values(value).every(requestsNothing)
  return value === undefined || value === false || value === '' || value === 0
}

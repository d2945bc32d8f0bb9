/** Keys of log objects, and the meaning of their age. */
import { newId } from '@windlass/kit'

/** Time within which rows that refer to a new object are stored. After it they are rejected. Milliseconds. */
export const ROWS_MS = 60_000
/** Age after which no new rows refer to an object. Milliseconds. */
export const SETTLE_MS = 120_000

/** Returns the folder of the objects that are written in an hour, such as `2026-11-22/15`. */
export function hourFolder(time: number): string {
  return new Date(time).toISOString().slice(0, 13).replace('T', '/')
}

/** Creates a key that contains `now`. */
export function newObjectKey(now: number): string {
  return `${hourFolder(now)}/${newId(now)}`
}

/** True if an object is older than SETTLE_MS, so that it is unused once its last row is deleted. */
export function isSettled(object: string, now: number): boolean {
  const seconds = Number.parseInt(object.slice(object.lastIndexOf('/') + 1).slice(0, 8), 16)
  return Number.isNaN(seconds) || seconds * 1000 <= now - SETTLE_MS
}

/** True for keys from `newObjectKey` and their drafts. Other files of the folder must not be deleted. */
export function isObjectKey(key: string): boolean {
  return /^\d{4}-\d{2}-\d{2}\/\d{2}\/[0-9a-f]{24}(\.draft)?$/.test(key)
}

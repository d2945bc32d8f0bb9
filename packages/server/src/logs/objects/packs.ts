/** Selection of the log objects to merge. */
import type { LogPart } from '../../store/builds/logs/log-objects.ts'

/** Size below which a file is small. */
export const SMALL_BYTES = 262_144
/** Maximum bytes and chunks of a merged file, unless the log is so long that it would have too many files. */
const PACK_BYTES = 8_388_608
const PACK_ROWS = 32_768
/** Minimum number of small files for a merge. */
const MIN_PARTS = 16
/** Maximum number of files that are not merged. With two packs for each share of the log there are at max 200 files. */
const MAX_KEPT = 100
const SHARES = 24

/**
 * Returns the files to merge, in groups in the order of the feed. With `isOver` the log is complete, and at max 200 files are left. Otherwise only
 * small files are merged, which is cheap.
 */
export function planPacks(parts: readonly LogPart[], isOver: boolean): LogPart[][] {
  const bytes = Math.max(PACK_BYTES, isOver ? sum(parts, 'bytes') / SHARES : 0)
  const rows = Math.max(PACK_ROWS, isOver ? sum(parts, 'rows') / SHARES : 0)
  const isLarge = (part: LogPart, limit: number): boolean => part.bytes >= limit || part.rows >= rows / 2
  const tooMany = isOver && parts.filter((part) => isLarge(part, SMALL_BYTES)).length > MAX_KEPT
  const small = parts.filter((part) => !isLarge(part, tooMany ? bytes / 2 : SMALL_BYTES))
  if (small.length < MIN_PARTS) return []
  return group(small, { bytes, rows }).filter((pack) => pack.length > 1)
}

function sum(parts: readonly LogPart[], key: 'bytes' | 'rows'): number {
  return parts.reduce((total, part) => total + part[key], 0)
}

function group(parts: readonly LogPart[], max: { bytes: number; rows: number }): LogPart[][] {
  const packs: LogPart[][] = []
  let pack: LogPart[] = []
  let [bytes, rows] = [0, 0]
  for (const part of parts) {
    if (pack.length > 0 && (bytes + part.bytes > max.bytes || rows + part.rows > max.rows)) {
      packs.push(pack)
      pack = []
      ;[bytes, rows] = [0, 0]
    }
    pack.push(part)
    bytes += part.bytes
    rows += part.rows
  }
  return [...packs, pack]
}

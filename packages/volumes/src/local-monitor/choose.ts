/** Which disk of a node goes next. Pure. */
import type { DiskFolder, FileSystemUse } from './folders.ts'

export interface Limits {
  readonly kb: number
  readonly inodes: number
}

/** True from a limit on: 80 % in use is not less than 80. */
export function isOver(use: FileSystemUse, limits: Limits): boolean {
  return use.kb >= limits.kb || use.inodes >= limits.inodes
}

/** The least recently used first; those that never say when they were used come last, by age. Marked ones are dealt with apart. */
export function byLastUse(folders: readonly DiskFolder[]): DiskFolder[] {
  const rank = ({ lastUsedAt, createdAt }: DiskFolder): number => lastUsedAt ?? createdAt ?? 9_999_999_999
  return folders.filter(({ deletedAt }) => deletedAt === undefined).toSorted((a, b) => rank(a) - rank(b))
}

/** Marked for longer than the grace. */
export function isDue({ deletedAt }: DiskFolder, graceSeconds: number, nowSeconds: number): boolean {
  return deletedAt !== undefined && nowSeconds - deletedAt > graceSeconds
}

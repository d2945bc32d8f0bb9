/** Ranks the disks of a node for removal. Pure. */
import type { DiskFolder, FileSystemUse } from './folders.ts'

export interface Limits {
  readonly kb: number
  readonly inodes: number
}

/** Whether a limit is reached; 80 % counts as reaching 80. */
export function isOver(use: FileSystemUse, limits: Limits): boolean {
  return use.kb >= limits.kb || use.inodes >= limits.inodes
}

/**
 * Returns the unmarked folders, least recently used first. Those without a last use are ranked by creation, and those without either come
 * last.
 */
export function byLastUse(folders: readonly DiskFolder[]): DiskFolder[] {
  const rank = ({ lastUsedAt, createdAt }: DiskFolder): number => lastUsedAt ?? createdAt ?? 9_999_999_999
  return folders.filter(({ deletedAt }) => deletedAt === undefined).toSorted((a, b) => rank(a) - rank(b))
}

/** Whether a folder has been marked for longer than the grace period. */
export function isDue({ deletedAt }: DiskFolder, graceSeconds: number, nowSeconds: number): boolean {
  return deletedAt !== undefined && nowSeconds - deletedAt > graceSeconds
}

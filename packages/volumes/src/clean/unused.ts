/** Decides which disks have been unused for too long. */

export interface UnusedDisk {
  /** Phase of its PersistentVolume. */
  readonly phase: string
  /** A disk on a node, which the cleaner of the node handles. */
  readonly isLocal: boolean
  /** Its removal was already requested. */
  readonly isDoomed: boolean
  readonly provisionedBy: string | undefined
  /** Epoch milliseconds; 0 if unknown. */
  readonly lastUsedAt: number
  readonly mounts: number
  /** Time until which it is kept for one build, epoch milliseconds. */
  readonly keptUntil: number | undefined
  /** How long it may be unused, such as `7d` or `12h`. */
  readonly retention: string | undefined
}

export interface UnusedRules {
  readonly retentionDays: number
  /** If set, removes disks that were used more than a day ago by fewer builds than this, instead of applying the retention. */
  readonly mountMin: number | undefined
  readonly provisionedBy: string
}

export type Verdict =
  | 'remove'
  | 'in-use'
  | 'kept-for-a-build'
  | 'local'
  | 'doomed'
  | 'of-another-provisioner'
  | 'of-unknown-age'
  | 'retention-unreadable'
  | 'used-lately'
  | 'used-often'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Returns what to do about a disk at `now`; all verdicts except `remove` name the reason for keeping it. */
export function judgeDisk(disk: UnusedDisk, rules: UnusedRules, now: number): Verdict {
  if (disk.provisionedBy !== rules.provisionedBy) return 'of-another-provisioner'
  if (disk.isLocal) return 'local'
  if (disk.isDoomed) return 'doomed'
  if (disk.phase !== 'Released' && disk.phase !== 'Available') return 'in-use'
  if (disk.keptUntil !== undefined && disk.keptUntil > now) return 'kept-for-a-build'
  if (disk.lastUsedAt === 0) return 'of-unknown-age'
  const own = disk.retention === undefined ? undefined : retentionMs(disk.retention)
  if (disk.retention !== undefined && own === undefined) return 'retention-unreadable'
  const unusedMs = now - disk.lastUsedAt
  // A disk's own retention takes precedence over all other rules.
  if (own !== undefined) return unusedMs > own ? 'remove' : 'used-lately'
  if (rules.mountMin === undefined) return unusedMs > rules.retentionDays * DAY_MS ? 'remove' : 'used-lately'
  if (unusedMs <= DAY_MS) return 'used-lately'
  return disk.mounts < rules.mountMin ? 'remove' : 'used-often'
}

/** Returns `7d` or `12h` in milliseconds; undefined for anything else. */
export function retentionMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([dh])$/i.exec(text.trim())
  if (match?.[1] === undefined) return undefined
  return Number(match[1]) * (match[2]?.toLowerCase() === 'h' ? HOUR_MS : DAY_MS)
}

/** Which disks have not been used for too long (runner specification 5.7). */

export interface UnusedDisk {
  /** Of its PersistentVolume. */
  readonly phase: string
  /** It lives on a node: the monitor there looks after it. */
  readonly isLocal: boolean
  /** Somebody wants it gone already. */
  readonly isDoomed: boolean
  readonly provisionedBy: string | undefined
  /** Epoch milliseconds; 0 when the disk does not say. */
  readonly lastUsedAt: number
  readonly mounts: number
  /** Until when it is kept for one build, epoch milliseconds. */
  readonly keptUntil: number | undefined
  /** How long it may be unused, as people write it: `7d`, `12h`. */
  readonly retention: string | undefined
}

export interface UnusedRules {
  readonly retentionDays: number
  /** Set: remove what was used more than a day ago and by fewer builds than this, in place of what is older than the retention. */
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

/** What is to be done about a disk at `now`; all but `remove` say why it stays. */
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
  // Who says how long a disk is kept means it for every reason to remove it.
  if (own !== undefined) return unusedMs > own ? 'remove' : 'used-lately'
  if (rules.mountMin === undefined) return unusedMs > rules.retentionDays * DAY_MS ? 'remove' : 'used-lately'
  if (unusedMs <= DAY_MS) return 'used-lately'
  return disk.mounts < rules.mountMin ? 'remove' : 'used-often'
}

/** `7d` or `12h` in milliseconds; undefined for anything else. */
export function retentionMs(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([dh])$/i.exec(text.trim())
  if (match?.[1] === undefined) return undefined
  return Number(match[1]) * (match[2]?.toLowerCase() === 'h' ? HOUR_MS : DAY_MS)
}

/** Free disk space. On a full disk the server accepts no new builds, and running builds continue. */
import type { StatsFs } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { fault } from '@windlass/kit'
import type { App } from '../../app.ts'

/** Free fractions of bytes and of inodes, 0 to 1. 1 if there is no limit. */
export interface FreeShare {
  readonly bytes: number
  readonly files: number
}

const CACHE_MS = 2000
const shares = new Map<string, { readonly share: FreeShare; readonly readAt: number }>()

/** Returns the free share of the disk of the data folder or of the log folder, if there is one, whichever is smaller. Cached for `CACHE_MS`. */
export async function freeShare(app: Pick<App, 'dataDir' | 'clock' | 'logs'>): Promise<FreeShare> {
  const now = app.clock.monotonic()
  const known = shares.get(app.dataDir)
  if (known !== undefined && now - known.readAt < CACHE_MS && now >= known.readAt) return known.share
  const folders = [app.dataDir, ...(app.logs.folder === undefined ? [] : [app.logs.folder])]
  const disks = await Promise.all(folders.map((folder) => statfs(folder)))
  const least = (name: 'bytes' | 'files'): number => Math.min(...disks.map((disk) => shareOf(disk)[name]))
  const share = { bytes: least('bytes'), files: least('files') }
  shares.set(app.dataDir, { share, readAt: now })
  return share
}

/** Returns the fuller one of the disks of the data folder and of the log folder. Bytes. */
export async function fullestDisk(
  app: Pick<App, 'dataDir' | 'logs'>,
): Promise<{ readonly totalBytes: number; readonly freeBytes: number }> {
  const folders = [app.dataDir, ...(app.logs.folder === undefined ? [] : [app.logs.folder])]
  const disks = (await Promise.all(folders.map((folder) => statfs(folder)))).toSorted(
    (one, other) => shareOf(one).bytes - shareOf(other).bytes,
  )
  const [fullest] = disks
  if (fullest === undefined) throw new Error('the data folder has no disk')
  const { bavail, blocks, bsize } = fullest
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize }
}

/** Computes the free share. File systems without an inode limit report 0 inodes. */
function shareOf({ bavail, blocks, ffree, files }: StatsFs): FreeShare {
  return { bytes: blocks === 0 ? 1 : bavail / blocks, files: files === 0 ? 1 : ffree / files }
}

/** Throws `storage-full` if the free bytes or inodes are below the configured share. */
export async function requireSpace(app: Pick<App, 'dataDir' | 'clock' | 'logs' | 'minFreeShare'>): Promise<void> {
  const { bytes, files } = await freeShare(app)
  if (Math.min(bytes, files) >= app.minFreeShare) return
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`
  const what =
    bytes < app.minFreeShare ? `Only ${percent(bytes)} of the disk is free` : `Only ${percent(files)} of the inodes are free`
  throw fault('storage-full', { message: `${what}; new builds need ${percent(app.minFreeShare)}.` })
}

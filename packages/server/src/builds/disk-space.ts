/** A full disk is a state: no new builds are taken, running ones go on. */
import { statfs } from 'node:fs/promises'
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'

const REMEMBER_MS = 2000
const shares = new Map<string, { readonly share: number; readonly readAt: number }>()

/** Free share of the disk that holds the data folder, 0 to 1; remembered for a moment. */
export async function freeShare(app: Pick<App, 'dataDir' | 'clock'>): Promise<number> {
  const now = app.clock.monotonic()
  const known = shares.get(app.dataDir)
  if (known !== undefined && now - known.readAt < REMEMBER_MS && now >= known.readAt) return known.share
  const { bavail, blocks } = await statfs(app.dataDir)
  const share = blocks === 0 ? 1 : bavail / blocks
  shares.set(app.dataDir, { share, readAt: now })
  return share
}

/** Throws `storage-full` below the configured share. */
export async function requireSpace(app: Pick<App, 'dataDir' | 'clock' | 'minFreeShare'>): Promise<void> {
  const share = await freeShare(app)
  if (share >= app.minFreeShare) return
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`
  throw fault('storage-full', {
    message: `Only ${percent(share)} of the disk is free; new builds need ${percent(app.minFreeShare)}.`,
  })
}

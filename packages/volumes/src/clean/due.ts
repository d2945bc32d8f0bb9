/** Decides whether a disk needs cleaning, at the end of a build and during it. */
import type { DiskFacts, DiskUsage } from './facts.ts'
import type { CleanSettings } from './settings.ts'

export type DueReason = 'disk' | 'inodes' | 'period' | 'builds'

/**
 * Returns why a clean-up is due at the end of a build at `nowSeconds`, or undefined if it is not. The first build of a disk only starts the
 * count.
 */
export function dueReason(
  { usage, cleanedAt, buildsSince }: Pick<DiskFacts, 'usage' | 'cleanedAt' | 'buildsSince'>,
  settings: CleanSettings,
  nowSeconds: number,
): DueReason | undefined {
  if (!settings.enabled) return undefined
  if (usage.disk > settings.diskThreshold) return 'disk'
  if (usage.inodes > settings.inodesThreshold) return 'inodes'
  if (cleanedAt === undefined) return undefined
  if (nowSeconds - cleanedAt >= settings.periodSeconds) return 'period'
  return buildsSince >= settings.periodBuilds ? 'builds' : undefined
}

/** Measures against a full disk during a build, in this order, each only while the disk is still too full. */
export const MEASURES = ['containers', 'volumes', 'images', 'purge'] as const
export type Measure = (typeof MEASURES)[number]

/** Whether a disk is so full during a build that something must be removed now. */
export function isTooFull(usage: DiskUsage, settings: CleanSettings): boolean {
  return usage.disk > settings.watchDiskThreshold || usage.inodes > settings.watchInodesThreshold
}

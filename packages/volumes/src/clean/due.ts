/** Whether a disk needs cleaning: when a build ends, and while one runs. */
import type { DiskFacts, DiskUsage } from './facts.ts'
import type { CleanSettings } from './settings.ts'

export type DueReason = 'disk' | 'inodes' | 'period' | 'builds'

/** Why a clean-up is due when a build ends at `nowSeconds`; undefined when it is not. The first build of a disk only starts the count. */
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

/** What is done about a full disk during a build, in this order, each only while the disk is still too full. */
export const MEASURES = ['containers', 'volumes', 'images', 'purge'] as const
export type Measure = (typeof MEASURES)[number]

/** True while a build's disk is so full that something has to go now. */
export function isTooFull(usage: DiskUsage, settings: CleanSettings): boolean {
  return usage.disk > settings.watchDiskThreshold || usage.inodes > settings.watchInodesThreshold
}

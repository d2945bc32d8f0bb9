/** The state of a pipeline in one sentence, from its statistics and its newest builds. */
import type { PipelineStats } from '@windlass/protocol'
import { lookOfBuild, type Look } from '../looks/states.ts'
import { formatClock } from '../looks/time.ts'

interface Ended {
  readonly number: number
  readonly status: string
  readonly reason?: string | undefined
  readonly branch?: string | undefined
}

const FINAL: ReadonlySet<string> = new Set(['success', 'error', 'terminated'])

export interface PipelineState {
  readonly look: Look
  readonly text: string
}

/** Formats a share as `82 %`. */
export function formatShare(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** Describes the newest build that has ended, and since when its branch is red. `builds` are newest first. */
export function describeNewest(builds: readonly Ended[]): PipelineState | undefined {
  const newest = builds.find(({ status }) => FINAL.has(status))
  if (newest === undefined) return undefined
  const where = newest.branch === undefined ? '' : ` on ${newest.branch}`
  const look = lookOfBuild(newest)
  if (newest.status === 'success') return { look, text: `Green${where}: #${newest.number} succeeded.` }
  if (newest.status === 'terminated') return { look, text: `#${newest.number}${where} was terminated.` }
  const own = builds.filter(({ status, branch }) => FINAL.has(status) && status !== 'terminated' && branch === newest.branch)
  const green = own.findIndex(({ status }) => status === 'success')
  const first = (green === -1 ? own.at(-1) : own[green - 1]) ?? newest
  return { look, text: first === newest ? `Red${where}: #${newest.number} failed.` : `Red${where} since #${first.number}.` }
}

/** Describes the statistics of a number of days. Empty without builds. */
export function describeStats({ builds, greenShare, duration, wait }: PipelineStats, days: number): string {
  if (builds.total === 0) return `No builds ended in ${days} days.`
  const judged = builds.success + builds.error
  const parts = [
    greenShare === undefined
      ? `${builds.total} ended in ${days} days`
      : `${formatShare(greenShare)} of ${judged} build${judged === 1 ? '' : 's'} green in ${days} days`,
    duration.p50Ms === undefined ? '' : `median ${formatClock(duration.p50Ms)}`,
    duration.p95Ms === undefined ? '' : `95 % within ${formatClock(duration.p95Ms)}`,
    wait.p95Ms === undefined ? '' : `95 % wait at most ${formatClock(wait.p95Ms)}`,
  ]
  return `${parts.filter((part) => part !== '').join(', ')}.`
}

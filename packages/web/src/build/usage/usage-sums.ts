/** Sums of the usage of steps that ran at the same time. Pure. */
import type { BuildStep } from '@windlass/protocol'

/** Returns an upper bound of the memory of a build: the greatest sum of the peaks of steps that ran at the same time. Bytes. */
export function memoryTogether(steps: readonly Pick<BuildStep, 'startedAt' | 'finishedAt' | 'usage' | 'carried'>[]): number {
  const changes = steps.flatMap(({ startedAt, finishedAt, usage, carried }) => {
    const bytes = usage?.memoryPeakBytes
    if (startedAt === undefined || bytes === undefined || carried === true) return []
    return [
      { at: startedAt, bytes },
      { at: finishedAt ?? Infinity, bytes: -bytes },
    ]
  })
  let used = 0
  let peak = 0
  // A step that starts when another one ends does not run beside it.
  for (const { bytes } of changes.toSorted((one, other) => one.at - other.at || one.bytes - other.bytes)) {
    used += bytes
    peak = Math.max(peak, used)
  }
  return Math.max(peak, ...steps.map(({ usage }) => usage?.memoryPeakBytes ?? 0))
}

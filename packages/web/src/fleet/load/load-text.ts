/** The load of a runtime in few words. */
import type { Runtime } from '@windlass/protocol'

/** Returns `10 run · 4 wait · 2 pairs warm`. Warm pairs are left out for a runtime without them. */
export function loadOf({ running, waiting, warm }: Pick<Runtime, 'running' | 'waiting' | 'warm'>): string {
  const pairs = warm === undefined ? [] : [`${warm.ready} of ${warm.ready + warm.starting} pairs warm`]
  return [`${running} run`, `${waiting} wait`, ...pairs].join(' · ')
}

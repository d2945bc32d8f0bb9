/** Sizes and the usage of steps as text. */

/** Peaks over the containers of a step. */
export interface ShownUsage {
  readonly memoryPeakBytes?: number | undefined
  readonly memoryLimitBytes?: number | undefined
  readonly cpuMs?: number | undefined
}

/** Formats a size such as `512 MiB` or `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let value = bytes
  let unit = 0
  for (; value >= 1024 && unit < units.length - 1; unit += 1) value /= 1024
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Formats peak memory with its limit, and CPU time: `410 MiB of 512 MiB, 3.2 s CPU`; empty if unknown. */
export function formatUsage(usage: ShownUsage | undefined | null): string {
  if (usage === undefined || usage === null) return ''
  const { memoryPeakBytes: peak, memoryLimitBytes: limit, cpuMs } = usage
  const memory = peak === undefined ? '' : formatBytes(peak) + (limit === undefined ? '' : ` of ${formatBytes(limit)}`)
  const cpu = cpuMs === undefined ? '' : `${(cpuMs / 1000).toFixed(1)} s CPU`
  return [memory, cpu].filter((part) => part !== '').join(', ')
}

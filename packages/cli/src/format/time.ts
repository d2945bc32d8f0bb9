/** Formats an age in one unit, like kubectl: `12s`, `5m`, `3h`, `8d`. Times are epoch milliseconds. */
export function formatAge(at: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - at) / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** Formats a time in ISO 8601, UTC; empty if undefined. */
export function formatTime(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString()
}

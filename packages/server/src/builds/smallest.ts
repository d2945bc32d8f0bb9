/** The smallest of those that are set. */
export function smallest(...limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}

/** Returns the smallest defined limit, or undefined if none is defined. */
export function minDefined(...limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}

import { nearest } from '@windlass/plan'

/** Returns the end of a message about an unknown name that names a similar one, if there is one. Empty otherwise. */
export function didYouMean(close: string | undefined): string {
  return close === undefined ? '' : `. Did you mean "${close}"?`
}

/** Returns the allowed value that a wrong one probably means. One that differs only in the case of letters comes first. */
export function nearestValue(wrong: string, allowed: readonly string[]): string | undefined {
  const lower = wrong.toLowerCase()
  return allowed.find((value) => value.toLowerCase() === lower) ?? nearest(wrong, allowed)
}

/** Filters of triggers on texts: branches, target branches and comments. */
import { checkPattern, matchesPattern, toRegexParts } from '@windlass/plan'
import { checkGlob, matchingAlternative, readGlob } from './glob.ts'

/** Returns true if the text matches `/pattern/flags` or a glob. Throws `PatternError` for a filter that cannot be used. */
export function matchesFilter(filter: string, text: string): boolean {
  const regex = toRegexParts(filter)
  if (regex !== undefined) return matchesPattern(regex.source, withoutState(regex.flags), text)
  const glob = readGlob(filter)
  return (matchingAlternative(glob, text) !== undefined) !== glob.isNegated
}

/** Throws `PatternError` if the filter cannot be used on any text. */
export function checkFilter(filter: string): void {
  const regex = toRegexParts(filter)
  if (regex === undefined) checkGlob(filter)
  else checkPattern(regex.source, withoutState(regex.flags))
}

/** `g` and `y` change where a JavaScript expression continues, not what it matches. */
function withoutState(flags: string): string {
  return flags.replaceAll(/[gy]/g, '')
}

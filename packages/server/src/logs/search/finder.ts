/** What a search looks for. */
import { fault } from '@windlass/kit'
import { compileLinePattern, PatternError, type LinePattern } from '@windlass/plan'

/** A match in a text of several lines. No match contains a line feed. */
export interface Found {
  readonly index: number
  readonly length: number
}

/** Yields the matches in a text, in order and without overlap. Throws `request-invalid` if the pattern is too expensive for it. */
export type Finder = (text: string) => Iterable<Found>

export interface Wanted {
  readonly q: string
  readonly regex: boolean
  /** Distinguishes upper and lower case. */
  readonly case: boolean
}

/** Returns what finds the text or the regular expression. Throws `request-invalid` if the pattern cannot be used. */
export function openFinder(wanted: Wanted): Finder {
  return wanted.regex ? patternFinder(wanted) : textFinder(wanted)
}

/** Plain text is a pattern without repetitions, which the native engine finds in linear time. */
function textFinder(wanted: Wanted): Finder {
  const source = wanted.q.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
  const pattern = new RegExp(source, wanted.case ? 'g' : 'gi')
  return function* (text) {
    for (const match of text.matchAll(pattern)) yield { index: match.index, length: match[0].length }
  }
}

function patternFinder(wanted: Wanted): Finder {
  const pattern = translated(wanted, () => compileLinePattern(wanted.q, wanted.case ? '' : 'i'))
  return function* (text) {
    for (let at = nextLine(wanted, pattern, { text, from: 0 }); at >= 0;) {
      const newline = text.indexOf('\n', at)
      const line = text.slice(at, newline < 0 ? text.length : newline)
      const start = at
      for (const [from, to] of translated(wanted, () => pattern.matchesIn(line))) yield { index: start + from, length: to - from }
      at = newline < 0 ? -1 : nextLine(wanted, pattern, { text, from: newline + 1 })
    }
  }
}

function nextLine(wanted: Wanted, pattern: LinePattern, { text, from }: { text: string; from: number }): number {
  return translated(wanted, () => pattern.nextLine(text, from))
}

/** Runs a call of the pattern. Its error becomes `request-invalid`. */
function translated<T>({ q }: Wanted, call: () => T): T {
  try {
    return call()
  } catch (error) {
    if (!(error instanceof PatternError)) throw error
    throw fault('request-invalid', {
      message: `The pattern "${q}" cannot be used: ${error.message}.`,
      hint: 'Use JavaScript syntax without back-references, look-ahead and look-behind, or search for plain text.',
    })
  }
}

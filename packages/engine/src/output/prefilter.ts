/**
 * Detects that a text contains no pattern by reading only a few of its bytes (Wu and Manber, "A fast algorithm for multi-pattern searching", 1994).
 * For each pair of bytes, a table holds the distance to the next position at which the first `width` bytes of a pattern may end.
 */

export interface Prefilter {
  /** False: the text contains no pattern. True: it may contain one. */
  mayMatch(text: Buffer): boolean
  /** Length of the longest pattern. */
  readonly longest: number
}

/** A larger width does not help, because the table would consist of small steps. */
const MAX_WIDTH = 24

/** Builds the filter. Patterns have at least three bytes. */
export function buildPrefilter(patterns: readonly Uint8Array[]): Prefilter {
  const width = patterns.reduce((least, { length }) => Math.min(least, length), MAX_WIDTH)
  const longest = patterns.reduce((most, { length }) => Math.max(most, length), 0)
  const steps = new Uint8Array(65_536).fill(width - 1)
  const beginnings = new Set<string>()
  for (const pattern of patterns) {
    const beginning = Buffer.from(pattern.buffer, pattern.byteOffset, width)
    beginnings.add(beginning.toString('latin1'))
    for (let end = 1; end < width; end += 1) {
      const pair = (at(beginning, end - 1) << 8) | at(beginning, end)
      steps[pair] = Math.min(at(steps, pair), width - 1 - end)
    }
  }
  return {
    longest,
    mayMatch(text) {
      for (let end = width - 1; end < text.length;) {
        const step = at(steps, (at(text, end - 1) << 8) | at(text, end))
        if (step > 0) end += step
        else if (beginnings.has(text.toString('latin1', end - width + 1, end + 1))) return true
        else end += 1
      }
      return false
    },
  }
}

/** Reads an element. All indices are in range. */
function at(list: Uint8Array, index: number): number {
  return list[index] ?? 0
}

/**
 * Says of a piece of text that no pattern can be in it, looking at few of its bytes (Wu and Manber, "A fast algorithm for multi-pattern
 * searching", 1994): the table tells of each pair of bytes how far the next place is at which a pattern may end its first `width` bytes.
 */

export interface Prefilter {
  /** False: no pattern lies in the text as a whole. True: one may. */
  mayMatch(text: Buffer): boolean
  /** Length of the longest pattern. */
  readonly longest: number
}

/** More does not help: the table would be full of small steps. */
const WIDEST = 24

/** Patterns have three bytes and more. */
export function buildPrefilter(patterns: readonly Uint8Array[]): Prefilter {
  const width = patterns.reduce((least, { length }) => Math.min(least, length), WIDEST)
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

/** All indices are within their lists. */
function at(list: Uint8Array, index: number): number {
  return list[index] ?? 0
}

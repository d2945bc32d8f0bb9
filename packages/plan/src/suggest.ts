/**
 * Returns the known name that a misspelled one probably means: the shortest that starts with it; otherwise, among those whose length differs by
 * less than 3, the one with the smallest edit distance within `maxEdits`. Returns undefined if none is close.
 */
export function nearest(wrong: string, known: readonly string[]): string | undefined {
  const others = known.filter((word) => word !== wrong)
  const starting = wrong === '' ? [] : others.filter((word) => word.startsWith(wrong)).toSorted((a, b) => a.length - b.length)
  return starting[0] ?? nearMiss(wrong, others)
}

/** Like `nearest`, but stricter, for user-defined names: a name that starts with the wrong one counts only if it is close. */
export function nearMiss(wrong: string, known: readonly string[]): string | undefined {
  let best: { word: string; distance: number } | undefined
  for (const word of known) {
    if (word === wrong || Math.abs(word.length - wrong.length) >= 3) continue
    const distance = editDistance(wrong, word, Math.min(maxEdits(wrong), (best?.distance ?? Infinity) - 1))
    if (distance !== undefined) best = { word, distance }
  }
  return best?.word
}

/** One edit for each three characters, at most four. */
function maxEdits({ length }: string): number {
  return Math.min(4, Math.floor(length / 3))
}

/**
 * Returns the edit distance if it is at most `most`: insertions, deletions and replacements of one character, and swaps of two adjacent ones. Computes only
 * the cells that such a distance can reach, and stops at the first row that is too far away.
 */
function editDistance(a: string, b: string, most: number): number | undefined {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const line = Array.from({ length: Math.max(row - most, 0) }, () => Infinity)
    if (line.length === 0) line.push(row)
    for (let column = line.length; column <= Math.min(b.length, row + most); column += 1) {
      const replace = (above[column - 1] ?? Infinity) + (a[row - 1] === b[column - 1] ? 0 : 1)
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      const swap = isSwap ? (before[column - 2] ?? Infinity) + 1 : Infinity
      line.push(Math.min(replace, swap, (above[column] ?? Infinity) + 1, (line[column - 1] ?? Infinity) + 1))
    }
    // A swap leads from the row before the last one to the next one.
    if (Math.min(...line, ...above) > most) return undefined
    before = above
    above = line
  }
  const distance = above[b.length] ?? Infinity
  return distance <= most ? distance : undefined
}

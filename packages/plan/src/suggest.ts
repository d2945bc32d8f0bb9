/**
 * Returns the known name that a misspelled one probably means: the shortest that starts with it; otherwise, among those whose length differs by
 * less than 3, the one with the smallest edit distance below 5. Returns undefined if none is close.
 */
export function nearest(wrong: string, known: readonly string[]): string | undefined {
  const others = known.filter((word) => word !== wrong)
  const starting = wrong === '' ? [] : others.filter((word) => word.startsWith(wrong)).toSorted((a, b) => a.length - b.length)
  if (starting[0] !== undefined) return starting[0]
  let best: { word: string; distance: number } | undefined
  for (const word of others) {
    if (Math.abs(word.length - wrong.length) >= 3) continue
    const distance = editDistance(wrong, word)
    if (distance < (best?.distance ?? 5)) best = { word, distance }
  }
  return best?.word
}

/** Like `nearest`, but stricter, for user-defined names: the edits must change at most half of the characters. */
export function nearMiss(wrong: string, known: readonly string[]): string | undefined {
  const close = nearest(wrong, known)
  return close !== undefined && editDistance(wrong, close) <= Math.min(wrong.length - 1, Math.ceil(wrong.length / 2))
    ? close
    : undefined
}

/** Returns the Levenshtein distance: insertions, deletions and replacements of one character. */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const replace = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      line.push(Math.min(replace, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above[b.length] ?? 0
}

/** Suggestions for misspelled names of one document. */

/** Maximum length of a name that gets a suggestion. Longer names match nothing and are expensive to compare. */
const MAX_LENGTH = 100
/** More names than a report keeps problems. */
const MAX_NAMES = 1_000

/**
 * Compares each misspelled name once. Aliases and generated steps lead to one place thousands of times, and a comparison with all known names costs more
 * than any other check of the place.
 */
export class Suggestions {
  private readonly found = new Map<object, Map<string, string | undefined>>()
  private readonly most: number
  private count = 0

  /** `most`: how many names are compared; further ones get no suggestion. */
  constructor(most = MAX_NAMES) {
    this.most = most
  }

  /** Returns what `search` finds for a misspelled name. `among` identifies the known names: `search` must only depend on it and on the name. */
  find(wrong: string, among: object, search: () => string | undefined): string | undefined {
    if (wrong.length > MAX_LENGTH) return undefined
    const known = this.found.get(among) ?? new Map<string, string | undefined>()
    if (known.has(wrong)) return known.get(wrong)
    if (this.count >= this.most) return undefined
    this.count += 1
    const close = search()
    this.found.set(among, known.set(wrong, close))
    return close
  }
}

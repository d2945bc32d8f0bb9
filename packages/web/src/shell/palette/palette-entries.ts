/** What the palette offers for a text. Pure. */

export interface PaletteEntry {
  readonly id: string
  readonly group: string
  readonly label: string
  /** Text behind the label. */
  readonly note?: string | undefined
  /** Why it does nothing now. */
  readonly off?: string | undefined
  /** The address that it leads to. Such choices are offered again, most recent first. */
  readonly path?: string | undefined
  readonly run: () => void
}

/** Maximum number of entries that are shown. */
export const MAX_ENTRIES = 12

/** The groups of entries, each with the character that shows only its entries. The last ones are offered with their character only. */
export const PREFIXES = {
  '#': 'Builds',
  '>': 'Actions',
  '@': 'People',
  ':': 'Lines',
  '?': 'Keys',
} as const
const ONLY_WITH_PREFIX: ReadonlySet<string> = new Set(['People', 'Lines', 'Keys'])

/** Splits what is typed into the group that its prefix names and the text behind it. */
export function readTyped(typed: string): { readonly group: string | undefined; readonly text: string } {
  const first = typed.trimStart().charAt(0)
  if (!Object.hasOwn(PREFIXES, first)) return { group: undefined, text: typed.trim() }
  return { group: PREFIXES[first as keyof typeof PREFIXES], text: typed.trimStart().slice(1).trim() }
}

/** Returns how well a text matches, higher is better; undefined if its characters do not occur in this order. */
export function score(text: string, wanted: string): number | undefined {
  const within = text.toLowerCase()
  const query = wanted.toLowerCase().replaceAll(/\s+/g, '')
  const start = within.indexOf(query)
  if (start >= 0) return 1_000 - start - within.length / 100 + (start === 0 || /[\s/_-]/.test(within[start - 1] ?? '') ? 100 : 0)
  let at = -1
  let gaps = 0
  for (const character of query) {
    const next = within.indexOf(character, at + 1)
    if (next < 0) return undefined
    gaps += next - at - 1
    at = next
  }
  return 500 - gaps - within.length / 100
}

/** Returns the entries that match, the best ones first, at most `MAX_ENTRIES`. A prefix shows only the entries of its group. */
export function choose(entries: readonly PaletteEntry[], typed: string): PaletteEntry[] {
  const { group, text } = readTyped(typed)
  const inGroup = entries.filter((entry) => (group === undefined ? !ONLY_WITH_PREFIX.has(entry.group) : entry.group === group))
  // The number of a line is what was typed.
  if (text === '' || group === 'Lines') return inGroup.slice(0, MAX_ENTRIES)
  const scored = inGroup.flatMap((entry) => {
    const found = score(`${entry.label} ${entry.note ?? ''}`, text)
    return found === undefined ? [] : [{ entry, found }]
  })
  return scored
    .toSorted((a, b) => b.found - a.found)
    .slice(0, MAX_ENTRIES)
    .map(({ entry }) => entry)
}

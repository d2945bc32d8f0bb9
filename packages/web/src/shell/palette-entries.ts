/** What the palette offers for a text. Pure. */

export interface PaletteEntry {
  readonly id: string
  readonly group: string
  readonly label: string
  /** Text behind the label. */
  readonly note?: string | undefined
  /** Why it does nothing now. */
  readonly off?: string | undefined
  readonly run: () => void
}

/** Maximum number of entries that are shown. */
export const MAX_ENTRIES = 12

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

/** Returns the entries that match, the best ones first, at most `MAX_ENTRIES`. `>` shows only actions, `#` only builds. */
export function choose(entries: readonly PaletteEntry[], typed: string): PaletteEntry[] {
  const prefix = /^[>#]/.exec(typed)?.[0]
  const wanted = prefix === undefined ? typed.trim() : typed.slice(1).trim()
  const group = prefix === '>' ? 'Actions' : prefix === '#' ? 'Builds' : undefined
  const inGroup = entries.filter((entry) => group === undefined || entry.group === group)
  if (wanted === '') return inGroup.slice(0, MAX_ENTRIES)
  const scored = inGroup.flatMap((entry) => {
    const found = score(`${entry.label} ${entry.note ?? ''}`, wanted)
    return found === undefined ? [] : [{ entry, found }]
  })
  return scored
    .toSorted((a, b) => b.found - a.found)
    .slice(0, MAX_ENTRIES)
    .map(({ entry }) => entry)
}

/** The removals that the daemon's pod must do when it ends: lines of `volume NAME`, `image ID` and `cache BYTES`, in order. */

export type Removal =
  | { readonly kind: 'volume'; readonly name: string }
  | { readonly kind: 'image'; readonly id: string }
  | { readonly kind: 'cache'; readonly keepBytes: number }

export function writeRemovals(removals: readonly Removal[]): string {
  return removals.map((removal) => `${removal.kind} ${target(removal)}\n`).join('')
}

/** Parses removals and skips invalid lines. */
export function readRemovals(text: string): Removal[] {
  return text.split('\n').flatMap((line): Removal[] => {
    const [kind, name = '', ...more] = line.split(' ')
    if (name === '' || more.length > 0) return []
    if (kind === 'volume') return [{ kind, name }]
    if (kind === 'image') return [{ kind, id: name }]
    return kind === 'cache' && /^\d+$/.test(name) ? [{ kind, keepBytes: Number(name) }] : []
  })
}

function target(removal: Removal): string {
  if (removal.kind === 'volume') return removal.name
  return removal.kind === 'image' ? removal.id : String(Math.floor(removal.keepBytes))
}

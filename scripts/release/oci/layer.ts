/** Layers of images, rewritten so that two builds of the same inputs have the same bytes. */
import type { Entry } from '../tar.ts'

/** What replaces a file of an image, by its path. */
export type Replacements = ReadonlyMap<string, (content: Buffer) => Buffer | string>

/** Caches, logs and copies of files of the machine that built the image. */
const DROPPED = [
  /^etc\/(?:hostname|resolv\.conf|machine-id)$/,
  /^etc\/(?:passwd|group|shadow|gshadow|subuid|subgid)-$/,
  /^(?:root|home\/[^/]+)\/\.(?:npm|cache)(?:\/|$)/,
  /^(?:tmp|var\/tmp|var\/log)\/./,
  /^var\/cache\/ldconfig\//,
  /^var\/cache\/debconf\/.*-old$/,
  /^var\/lib\/apt\/lists\/./,
  /^var\/lib\/dpkg\/(?:status|available|statoverride)-old$/,
]

/** An image names no mirror: that of the build may be private, and users have their own. */
const NO_SOURCES = '# Name a Debian mirror here to install packages.\n'

/** Files that name the day or the mirror of the build. */
const REWRITTEN: Replacements = new Map<string, (content: Buffer) => string>([
  // The third field is the day of the last change of a password. The image has no passwords.
  ['etc/shadow', (content) => content.toString().replaceAll(/^([^:]*:[^:]*):\d+:/gm, '$1:1:')],
  ['etc/apt/sources.list.d/debian.sources', () => NO_SOURCES],
])

/** Returns the path of an entry as the tables have it: `./etc/` is `etc`. */
export function pathOf(name: string): string {
  return name.replace(/^(?:\.?\/)+/, '').replace(/\/+$/, '')
}

/** Returns the entries of a layer in the order of their paths, without what differs between two builds. */
export function normalizeLayer(entries: readonly Entry[], replacements: Replacements = new Map()): Entry[] {
  const kept = new Map<string, Entry>()
  for (const entry of entries) {
    const path = pathOf(entry.header.name)
    if (path !== '' && !DROPPED.some((pattern) => pattern.test(path))) kept.set(path, entry)
  }
  const sorted = [...kept.keys()].toSorted()
  const owners = firstNames(sorted, kept)
  return sorted.flatMap((path) => {
    const entry = kept.get(path)
    if (entry === undefined) return []
    const owner = owners.get(path)
    const name = entry.header.type === 'directory' ? `${path}/` : path
    if (owner === undefined) return [replaced(path, { ...entry, header: { ...entry.header, name } }, replacements)]
    const { name: first, source } = owner
    if (first !== path) return [{ header: { ...source.header, name: path, type: 'link', linkname: first } as Entry['header'] }]
    return [replaced(path, { ...source, header: { ...source.header, name: path } }, replacements)]
  })
}

interface Owner {
  /** First path of the file in the layer, which has the content. */
  readonly name: string
  readonly source: Entry
}

/** Returns the owner of every path of a file with several names. The order in which an archive lists hard links depends on the disk. */
function firstNames(sorted: readonly string[], kept: ReadonlyMap<string, Entry>): Map<string, Owner> {
  const groups = new Map<string, Set<string>>()
  for (const path of sorted) {
    const { type, linkname } = kept.get(path)?.header ?? {}
    if (type !== 'link') continue
    const target = pathOf(linkname ?? '')
    groups.set(target, (groups.get(target) ?? new Set([target])).add(path))
  }
  const owners = new Map<string, Owner>()
  for (const [target, names] of groups) {
    const source = kept.get(target)
    // A link to a file that is not in the layer stays as it is.
    if (source?.read === undefined) continue
    const name = [...names].toSorted()[0] ?? target
    for (const each of names) owners.set(each, { name, source })
  }
  return owners
}

function replaced(path: string, entry: Entry, replacements: Replacements): Entry {
  const { read } = entry
  const replace = replacements.get(path) ?? REWRITTEN.get(path)
  return replace === undefined || read === undefined ? entry : { ...entry, read: () => Buffer.from(replace(read())) }
}

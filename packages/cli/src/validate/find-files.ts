/** Words of the command line as files: paths, patterns that no shell has expanded, and `-`. */
import { globSync, statSync } from 'node:fs'

export interface FoundFiles {
  /** In the order given, each once; those of a pattern by name. `-` is standard input. */
  readonly paths: readonly string[]
  /** Words that name nothing. */
  readonly missing: readonly string[]
}

const MAGIC = /[*?[\]{}]/

/** Every file that the words name. A file whose name looks like a pattern is taken for itself. */
export function findFiles(words: readonly string[]): FoundFiles {
  const paths = new Set<string>()
  const missing: string[] = []
  for (const word of words) {
    const found = word === '-' || isThere(word) ? [word] : MAGIC.test(word) ? expand(word) : []
    if (found.length === 0) missing.push(word)
    for (const path of found) paths.add(path)
  }
  return { paths: [...paths], missing }
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Folders that a pattern matches too are left out. */
function expand(pattern: string): string[] {
  return globSync(pattern)
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .toSorted()
}

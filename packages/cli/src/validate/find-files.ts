/** Resolves arguments to files: paths, patterns that the shell did not expand, and `-`. */
import fs, { statSync } from 'node:fs'
import { fault } from '@windlass/kit/faults'

export interface FoundFiles {
  /** Unique, in the given order; matches of a pattern are sorted. `-` is standard input. */
  readonly paths: readonly string[]
  /** Arguments without a matching file. */
  readonly missing: readonly string[]
}

const MAGIC = /[*?[\]{}]/

/** Finds the files. An existing file whose name looks like a pattern is not expanded. */
export function findFiles(args: readonly string[]): FoundFiles {
  const paths = new Set<string>()
  const missing: string[] = []
  for (const arg of args) {
    const found = arg === '-' || exists(arg) ? [arg] : MAGIC.test(arg) ? expand(arg) : []
    if (found.length === 0) missing.push(arg)
    for (const path of found) paths.add(path)
  }
  return { paths: [...paths], missing }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Expands a pattern to files; folders are ignored. Throws `usage` on Node 20, which cannot expand patterns. */
function expand(pattern: string): string[] {
  if (fs.globSync === undefined)
    throw fault('usage', {
      message: `Node ${process.versions.node} cannot expand the pattern "${pattern}".`,
      hint: 'Leave the pattern to the shell, without quotes, or use Node 22 or later.',
    })
  return fs
    .globSync(pattern)
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .toSorted()
}

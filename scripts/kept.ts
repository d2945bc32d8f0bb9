/** What is built from sources, kept in the cache folder: a clone with the same sources copies it. */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, extname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const cache = join(process.env['WINDLASS_CACHE'] ?? join(homedir(), '.cache/windlass'), 'kept')

/** Returns a digest of the names and bytes of the files of this clone that match, without tests. */
export function digestSources(patterns: readonly string[]): string {
  const paths = globSync(patterns, { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
  const hash = createHash('sha256')
  for (const path of paths.toSorted()) {
    if (statSync(join(root, path)).isFile())
      hash
        .update(`${path}\0`)
        .update(readFileSync(join(root, path)))
        .update('\0')
  }
  return hash.digest('hex')
}

/** Something that is kept: what it is, and what it was built from. */
export interface Kept {
  readonly name: string
  /** A digest of its sources. */
  readonly key: string
}

/** Copies a file or folder as a whole, and replaces what is there: nobody sees a part of it. */
function replace(from: string, to: string): void {
  const part = `${to}.${process.pid}`
  mkdirSync(dirname(to), { recursive: true })
  try {
    cpSync(from, part, { recursive: true })
    rmSync(to, { recursive: true, force: true })
    renameSync(part, to)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** Keeps a file or folder, in the place of what was built from other sources. Does nothing if another clone does the same at this moment. */
export function keep({ name, key }: Kept, path: string): void {
  const folder = join(cache, name)
  try {
    replace(path, join(folder, key))
  } catch {
    return
  }
  const isOther = (entry: string): boolean => entry !== key && extname(entry) === ''
  for (const entry of readdirSync(folder).filter(isOther)) rmSync(join(folder, entry), { recursive: true, force: true })
}

/** Copies what is kept to a path. Returns false if it is not there, or another clone removes it at this moment. */
export function take({ name, key }: Kept, path: string): boolean {
  const kept = join(cache, name, key)
  if (!existsSync(kept)) return false
  try {
    replace(kept, path)
    return true
  } catch {
    return false
  }
}

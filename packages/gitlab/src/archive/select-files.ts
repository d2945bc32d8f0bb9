/** Which files of a project an archive has. Rules of the runners of GitLab: patterns with `**`, folders with all that is in them, hidden files too. */
import { execFile } from 'node:child_process'
import { lstatSync, readdirSync, realpathSync, statSync, type Stats } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { hasCode } from '@windlass/kit'
import picomatch from 'picomatch'

export interface Wanted {
  /** Files, folders and patterns, relative to the folder or absolute within it. */
  readonly paths: readonly string[]
  readonly exclude: readonly string[]
  /** True adds the files that git does not track. */
  readonly untracked: boolean
}

export interface Selected {
  /** Paths relative to the folder, sorted, folders before what is in them. */
  readonly paths: readonly string[]
  /** Lines for the log of the job. */
  readonly notes: readonly string[]
}

const run = promisify(execFile)
/** Longest list of untracked files that git may print. Bytes. */
const MAX_LIST = 256 * 1024 * 1024

/** Returns the files that are wanted. What does not exist or lies outside of the folder is only noted. */
export async function selectFiles(folder: string, { paths, exclude, untracked }: Wanted): Promise<Selected> {
  const found = new Set<string>()
  const notes: string[] = []
  const isExcluded = exclude.length === 0 ? () => false : picomatch(exclude.map(plain), { dot: true })
  const take = (path: string): number => {
    let count = 0
    for (const one of withContent(folder, path)) {
      if (isExcluded(one)) continue
      found.add(one)
      count += 1
    }
    return count
  }
  for (const wanted of paths) {
    const path = within(folder, wanted)
    if (path === undefined) {
      notes.push(`WARNING: ${wanted}: the path lies outside of the project and is left out`)
      continue
    }
    const count = matching(folder, path).reduce((sum, one) => sum + take(one), 0)
    notes.push(
      count === 0
        ? `WARNING: ${wanted}: no matching files. Ensure that the artifact path is relative to the working directory (${folder})`
        : `${wanted}: found ${count} matching artifact files and directories`,
    )
  }
  if (untracked) {
    const { stdout } = await run('git', ['ls-files', '-o', '-z'], { cwd: folder, maxBuffer: MAX_LIST })
    const count = stdout
      .split('\0')
      .filter((path) => path !== '')
      .reduce((sum, path) => sum + take(path), 0)
    notes.push(`untracked: found ${count} files`)
  }
  return { paths: [...found].toSorted(), notes }
}

const plain = (path: string): string => path.replace(/^(?:\.\/)+/, '').replace(/(.)\/+$/, '$1')

/** Returns a path relative to the folder; undefined if it leads out of it. */
function within(folder: string, path: string): string | undefined {
  const inside = relative(folder, join(isAbsolute(path) ? '' : folder, path))
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? undefined : inside === '' ? '.' : inside
}

function statOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

/** Returns what a pattern matches. A path that exists is taken as it is, whatever its characters. What lies behind a link out of the folder does not match. */
function matching(folder: string, path: string): string[] {
  const root = realpathSync(folder)
  const parent = (one: string): string | undefined => realPath(join(folder, one))
  if (statOf(join(folder, path)) !== undefined) return path === '.' || isWithin(root, parent(dirname(path))) ? [path] : []
  const { base } = picomatch.scan(path)
  const start = parent(base)
  if (start === undefined || !isWithin(root, start) || !statSync(start).isDirectory()) return []
  const isMatch = picomatch(path, { dot: true })
  const inside = readdirSync(start).flatMap((name) => withContent(folder, base === '' ? name : `${base}/${name}`))
  return inside.filter((one) => isMatch(one))
}

/** Returns the path without links; undefined if it does not exist. */
function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

const isWithin = (root: string, path: string | undefined): boolean =>
  path !== undefined && (path === root || path.startsWith(root + sep))

/** Returns a path and, of a folder, all that is in it. Symbolic links are not followed. */
function withContent(folder: string, path: string): string[] {
  const stat = statOf(join(folder, path))
  if (stat === undefined) return []
  if (!stat.isDirectory()) return stat.isFile() || stat.isSymbolicLink() ? [path] : []
  const inside = readdirSync(join(folder, path)).flatMap((name) => withContent(folder, path === '.' ? name : `${path}/${name}`))
  return path === '.' ? inside : [path, ...inside]
}

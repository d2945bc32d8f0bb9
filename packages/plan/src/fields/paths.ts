/** Directories and mounts of steps. All paths are POSIX paths inside containers. */
import { VOLUME_PATH } from '../expression/builtin-variables.ts'
import type { BuildScope } from '../expression/build-scope.ts'

/** A directory of the shared volume, mounted at another path of the container. */
export interface Mount {
  /** Path below the shared volume without a leading slash; empty for the volume itself. */
  readonly source: string
  readonly target: string
  readonly readOnly: boolean
}

const MAIN_CLONE = 'main_clone'

/**
 * Returns the absolute directory of a `working_directory` whose variables are substituted already. If it is empty, this is the project folder
 * of the step `main_clone` (if `base` asks for it, and never inside a typed step) or else the volume. `IMAGE_WORK_DIR` gives undefined, the
 * directory of the image.
 */
export function resolveDirectory(scope: BuildScope, written: string, base: 'main-clone' | 'volume'): string | undefined {
  const text = written.trim()
  if (text === 'IMAGE_WORK_DIR') return undefined
  if (text.startsWith('/')) return normalize(text)
  const volume = scope.lookup('CF_VOLUME_PATH') ?? VOLUME_PATH
  const root = (base === 'main-clone' && !scope.isTyped ? scope.as('directory').lookup(MAIN_CLONE) : undefined) ?? volume
  return text === '' ? root : normalize(`${root}/${text}`)
}

/** Parses a mount `source:target[:ro]`, or returns the problem. The source is always below the shared volume. */
export function resolveMount(entry: string): Mount | string {
  const [source = '', target = '', mode = 'rw', ...rest] = entry.split(':')
  if (source === '' || !target.startsWith('/') || rest.length > 0) return 'must have the form source:/target[:ro]'
  if (mode !== 'rw' && mode !== 'ro') return 'can only end with :ro or :rw'
  if (source.split('/').includes('..')) return 'must not leave the shared volume'
  const place = normalize(target)
  if (place === VOLUME_PATH || place === '/') return `must not be mounted at ${place}`
  return { source: normalize(`/${source}`).slice(1), target: place, readOnly: mode === 'ro' }
}

/** Returns the folder name that Git gives a clone of `repo`, or undefined if the text is not a repository. */
export function repositoryName(repo: string): string | undefined {
  const text = repo.trim().split(/[?#]/, 1)[0] ?? ''
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(.*)$/is.exec(text)?.[1] ?? text
  const name = path
    .split(/[/:]/)
    .findLast((part) => part !== '')
    ?.replace(/\.git$/, '')
  return name === undefined || name === '' || name === '.' || name === '..' ? undefined : name
}

/** Removes `.`, `..`, repeated and trailing slashes from an absolute path. Never goes above the root. */
export function normalize(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

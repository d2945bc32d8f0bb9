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
 * Returns the absolute directory of a `working_directory` whose variables are already substituted. A relative path is below the base, and an empty
 * text is the base itself: with `main-clone`, outside of typed steps, the folder of the step `main_clone` if there is one; otherwise the
 * shared volume. Returns undefined for `IMAGE_WORK_DIR`, the working directory of the image.
 */
export function resolveDirectory(scope: BuildScope, written: string, base: 'main-clone' | 'volume'): string | undefined {
  const text = written.trim()
  if (text === 'IMAGE_WORK_DIR') return undefined
  if (text.startsWith('/')) return normalize(text)
  const volume = scope.lookup('CF_VOLUME_PATH') ?? VOLUME_PATH
  const root = (base === 'main-clone' && !scope.isTyped ? scope.as('directory').lookup(MAIN_CLONE) : undefined) ?? volume
  return text === '' ? root : normalize(`${root}/${text}`)
}

/**
 * Parses a mount `source:target[:ro|:rw]`; the default is `rw`. The source is always below the shared volume. Returns the end of an error message
 * that starts with the name of the field if the mount is invalid.
 */
export function resolveMount(entry: string): Mount | string {
  const [source = '', target = '', mode = 'rw', ...rest] = entry.split(':')
  if (source === '' || !target.startsWith('/') || rest.length > 0) return 'must have the form source:/target[:ro]'
  if (mode !== 'rw' && mode !== 'ro') return 'can only end with :ro or :rw'
  if (source.split('/').includes('..')) return 'must not leave the shared volume'
  const path = normalize(target)
  if (path === VOLUME_PATH || path === '/') return `must not be mounted at ${path}`
  return { source: normalize(`/${source}`).slice(1), target: path, readOnly: mode === 'ro' }
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

/** Resolves `.` and `..` in an absolute path and removes repeated and trailing slashes. Never goes above the root. */
export function normalize(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

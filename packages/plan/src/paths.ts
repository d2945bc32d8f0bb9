/** Directories and mounts of steps (pipeline language 2.1 and 2.2). All paths are POSIX paths inside containers. */
import { VOLUME_PATH } from './builtin-variables.ts'
import type { BuildScope } from './scope.ts'

/** A part of the shared volume at another place of the container. */
export interface Mount {
  /** Path below the shared volume, without a slash in front; empty is the volume itself. */
  readonly source: string
  readonly target: string
  readonly readOnly: boolean
}

const MAIN_CLONE = 'main_clone'

/**
 * The absolute directory that `working_directory` means, its variables filled in already. Nothing written gives the project folder of the
 * step `main_clone` (where `base` asks for it, and never inside a typed step) or the volume; `IMAGE_WORK_DIR` gives undefined: the image's own.
 */
export function resolveDirectory(scope: BuildScope, written: string, base: 'main-clone' | 'volume'): string | undefined {
  const text = written.trim()
  if (text === 'IMAGE_WORK_DIR') return undefined
  if (text.startsWith('/')) return normalize(text)
  const volume = scope.lookup('CF_VOLUME_PATH') ?? VOLUME_PATH
  const root = (base === 'main-clone' && !scope.isTyped ? scope.as('directory').lookup(MAIN_CLONE) : undefined) ?? volume
  return text === '' ? root : normalize(`${root}/${text}`)
}

/** A mount from `source:target[:ro]`, or what is wrong with it. The source is always below the shared volume. */
export function resolveMount(entry: string): Mount | string {
  const [source = '', target = '', mode = 'rw', ...rest] = entry.split(':')
  if (source === '' || !target.startsWith('/') || rest.length > 0) return 'must have the form source:/target'
  if (mode !== 'rw' && mode !== 'ro') return 'may end with :ro or :rw only'
  if (source.split('/').includes('..')) return 'must not leave the shared volume'
  const place = normalize(target)
  if (place === VOLUME_PATH || place === '/') return `must not be mounted at ${place}`
  return { source: normalize(`/${source}`).slice(1), target: place, readOnly: mode === 'ro' }
}

/** The folder name that git gives a clone of `repo`; undefined when the text names no repository. */
export function repositoryName(repo: string): string | undefined {
  const text = repo.trim().split(/[?#]/, 1)[0] ?? ''
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/]*(.*)$/is.exec(text)?.[1] ?? text
  const name = path
    .split(/[/:]/)
    .findLast((part) => part !== '')
    ?.replace(/\.git$/, '')
  return name === undefined || name === '' || name === '.' || name === '..' ? undefined : name
}

/** Removes `.`, `..`, doubled and trailing slashes of an absolute path; never above the root. */
export function normalize(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** Which paths and branches a commit may name. Git checks the paths too; this check comes first, names the reason, and knows no exceptions. */

const MAX_PATH_BYTES = 1_024
const MAX_NAME_BYTES = 255

/** Returns why a path cannot be written; undefined if it can. */
export function problemOfPath(path: string): string | undefined {
  if (path === '') return 'is empty'
  if (!path.isWellFormed()) return 'is not Unicode'
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`
  if (/\p{Cc}/u.test(path)) return 'contains a control character'
  if (path.includes('\\')) return 'contains a backslash'
  if (path.startsWith('/')) return 'begins with a slash'
  for (const name of path.split('/')) {
    if (name === '') return 'contains an empty name'
    if (name === '.' || name === '..') return `contains "${name}"`
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `contains a name of more than ${MAX_NAME_BYTES} bytes`
    if (isGitFolder(name)) return 'contains the folder of git'
  }
  return undefined
}

/**
 * Returns true for `.git` and the names that file systems take for it: in any case, with characters that HFS+ ignores, with the short name, the spaces, the dots and the
 * streams of NTFS. A work tree with such a file could run programs.
 */
function isGitFolder(name: string): boolean {
  const seen = name
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
  return seen === '.git' || /^git~\d+$/.test(seen)
}

/** Returns true for the name of a branch (git-check-ref-format(1)) that no program reads as an option. */
export function isBranchName(name: string): boolean {
  if (name === '' || name.length > 250 || !name.isWellFormed()) return false
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^[-/]|[/.]$/.test(name) || name === '@') return false
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'))
}

/** Returns the folders that contain a path. */
export function foldersOf(path: string): string[] {
  const names = path.split('/')
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'))
}

/** Returns those of `changed` that are one of `paths`, are inside it, or contain it. */
export function overlapOf(changed: Iterable<string>, paths: readonly string[]): string[] {
  const own = new Set(paths)
  const folders = new Set(paths.flatMap(foldersOf))
  return [...changed].filter((path) => own.has(path) || folders.has(path) || foldersOf(path).some((folder) => own.has(folder)))
}

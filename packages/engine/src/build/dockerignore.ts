/** Which files of a folder a build does not see: `.dockerignore`, as Docker reads it (docs.docker.com, "Build context"). */

export interface IgnoreRule {
  /** Matches a path relative to the folder, without a slash in front; in the part of the syntax that JavaScript and awk share. */
  readonly pattern: string
  /** True for `!pattern`: what matches is seen again. */
  readonly isException: boolean
}

/** The rules in the order of the file: of all that match a path the last one counts. */
export function readIgnoreRules(text: string): IgnoreRule[] {
  return text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const isException = line.startsWith('!')
      const path = clean(isException ? line.slice(1).trim() : line)
      return path === '' ? [] : [{ pattern: `^${toPattern(path)}(/.*)?$`, isException }]
    })
}

/** Removes `.`, `..` and slashes at both ends, as Go's `filepath.Clean` does for a rooted path. */
function clean(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

/** `**` stands for any folders, `*` and `?` for characters of a name, `[a-z]` for one of them, `\` for the next character itself. */
function toPattern(path: string): string {
  let pattern = ''
  for (let index = 0; index < path.length; index += 1) {
    const char = path[index] ?? ''
    if (char === '*' && path[index + 1] === '*') {
      const isFolder = path[index + 2] === '/'
      pattern += isFolder ? '(.*/)?' : '.*'
      index += isFolder ? 2 : 1
    } else if (char === '*') pattern += '[^/]*'
    else if (char === '?') pattern += '[^/]'
    else if (char === '[' && path.indexOf(']', index + 1) > index) {
      const end = path.indexOf(']', index + 1)
      pattern += path.slice(index, end + 1)
      index = end
    } else if (char === '\\') {
      index += 1
      pattern += literal(path[index] ?? '\\')
    } else pattern += literal(char)
  }
  return pattern
}

/** A class of one character is the one form that no dialect of patterns takes for something else. */
function literal(char: string): string {
  if (/[A-Za-z0-9_/ -]/.test(char) || (char.codePointAt(0) ?? 0) > 127) return char
  return char === '^' || char === '\\' ? `\\${char}` : `[${char}]`
}

/** True when a build does not see the file. */
export function isIgnored(path: string, rules: readonly IgnoreRule[]): boolean {
  const last = rules.findLast(({ pattern }) => new RegExp(pattern).test(path))
  return last !== undefined && !last.isException
}

/** The same as a program for awk that prints the paths that a build sees, one on each line. */
export function toAwk(rules: readonly IgnoreRule[]): string {
  const tests = rules.map(({ pattern, isException }) => `if ($0 ~ ${quote(pattern)}) ignored = ${isException ? 0 : 1}`)
  return ['{ ignored = 0', ...tests, 'if (!ignored) print }'].join('\n')
}

function quote(pattern: string): string {
  return `"${pattern.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Reads `.dockerignore` like Docker (docs.docker.com, "Build context"). */

export interface IgnoreRule {
  /** Matches a path relative to the folder, without a leading slash. Uses only regex syntax that JavaScript and awk share. */
  readonly pattern: string
  /** True for `!pattern`, which includes the matching files again. */
  readonly isException: boolean
}

/** Returns the rules in the order of the file. The last rule that matches a path wins. */
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

/** Translates a glob: `**` is any folders, `*` and `?` are characters of a name, `[a-z]` is a class, `\` escapes the next character. */
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

/** Escapes a character as a class, the one form that all regex dialects read alike. */
function literal(char: string): string {
  if (/[A-Za-z0-9_/ -]/.test(char) || (char.codePointAt(0) ?? 0) > 127) return char
  return char === '^' || char === '\\' ? `\\${char}` : `[${char}]`
}

/** Returns the rules as an awk program that prints the paths that a build sees, one per line. */
export function toAwk(rules: readonly IgnoreRule[]): string {
  const tests = rules.map(({ pattern, isException }) => `if ($0 ~ ${quote(pattern)}) ignored = ${isException ? 0 : 1}`)
  return ['{ ignored = 0', ...tests, 'if (!ignored) print }'].join('\n')
}

function quote(pattern: string): string {
  return `"${pattern.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** Patterns of allowed images: `*` matches within a part of a path, `**` across parts, `?` one character, `[a-z]` one of a set, `{a,b}` one of a list. */

/** Returns true if a pattern matches the whole text. A pattern that cannot be read matches nothing. */
export function matchesGlob(pattern: string, text: string): boolean {
  const source = toSource(pattern)
  return source !== undefined && new RegExp(`^${source}$`).test(text)
}

/** Longest pattern that is read. Characters. */
const MAX_PATTERN = 1_000

function toSource(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return undefined
  let source = ''
  let open = 0
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at)
    if (char === '*') {
      let stars = 1
      while (pattern[at + 1] === '*') {
        at += 1
        stars += 1
      }
      source += stars > 1 ? '.*' : '[^/]*'
    } else if (char === '?') source += '[^/]'
    else if (char === '[') {
      const end = pattern.indexOf(']', at + 2)
      if (end < 0) return undefined
      const set = pattern.slice(at + 1, end)
      const isNegated = set.startsWith('!') || set.startsWith('^')
      source += `[${isNegated ? '^/' : ''}${(isNegated ? set.slice(1) : set).replaceAll(/[\\\]^[]/g, String.raw`\$&`)}]`
      at = end
    } else if (char === '{') {
      source += '(?:'
      open += 1
    } else if (char === '}' && open > 0) {
      source += ')'
      open -= 1
    } else if (char === ',' && open > 0) source += '|'
    else if (char === '\\' && at + 1 < pattern.length) source += RegExp.escape(pattern.charAt((at += 1)))
    else source += RegExp.escape(char)
  }
  return open === 0 ? source : undefined
}

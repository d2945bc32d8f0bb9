/** Patterns of Argo CD: those of folders, and of what a project permits. Matching takes time in proportion to pattern and text, because patterns come from people. */

/** Alternatives of braces that are tried. */
const MAX_ALTERNATIVES = 500

type Token =
  | { readonly type: 'text'; readonly character: string }
  /** Any character but a separator. */
  | { readonly type: 'one' }
  | { readonly type: 'class'; readonly isNegated: boolean; readonly ranges: readonly (readonly [from: string, to: string])[] }
  | { readonly type: 'many'; readonly crosses: boolean }

/**
 * Returns whether a text matches a pattern with `*`, `?`, `[a-z]`, `[!a]`, `{a,b}` and `\`. Without a separator `*` matches everything, also slashes; with one it stops
 * there, and `**` does not.
 */
export function matchesGlob(pattern: string, text: string, separator = ''): boolean {
  const characters = Array.from(text)
  return alternativesOf(pattern).some((plain) => matches(tokensOf(plain), characters, separator))
}

/** Returns the patterns without braces that a pattern stands for. */
function alternativesOf(pattern: string): string[] {
  const waiting = [pattern]
  const found: string[] = []
  while (waiting.length > 0 && found.length + waiting.length <= MAX_ALTERNATIVES) {
    const next = waiting.pop() ?? ''
    const braces = bracesOf(next)
    if (braces === undefined) found.push(next)
    else waiting.push(...braces.parts.map((part) => braces.before + part + braces.after))
  }
  return found
}

/** Returns what is before, inside and after the first braces. Undefined without closed ones. */
function bracesOf(pattern: string): { before: string; parts: string[]; after: string } | undefined {
  let depth = 0
  let open = -1
  let start = 0
  const parts: string[] = []
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at]
    if (character === '\\') at += 1
    else if (character === '{') {
      depth += 1
      if (depth === 1) [open, start] = [at, at + 1]
    } else if (depth === 1 && (character === ',' || character === '}')) {
      parts.push(pattern.slice(start, at))
      start = at + 1
      if (character === '}') return { before: pattern.slice(0, open), parts, after: pattern.slice(at + 1) }
    } else if (character === '}' && depth > 1) depth -= 1
  }
  return undefined
}

function tokensOf(pattern: string): Token[] {
  const tokens: Token[] = []
  const characters = Array.from(pattern)
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? ''
    const end = character === '[' ? characters.indexOf(']', at + 2) : -1
    if (character === '*') {
      const crosses = characters[at + 1] === '*'
      if (crosses) at += 1
      tokens.push({ type: 'many', crosses })
    } else if (character === '?') tokens.push({ type: 'one' })
    else if (end > 0) {
      tokens.push(classOf(characters.slice(at + 1, end)))
      at = end
    } else if (character === '\\' && at + 1 < characters.length) {
      at += 1
      tokens.push({ type: 'text', character: characters[at] ?? '' })
    } else tokens.push({ type: 'text', character })
  }
  return tokens
}

function classOf(content: readonly string[]): Token {
  const isNegated = content[0] === '!' || content[0] === '^'
  const members = isNegated ? content.slice(1) : content
  const ranges: [string, string][] = []
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at] ?? ''
    const isRange = members[at + 1] === '-' && at + 2 < members.length
    ranges.push([from, isRange ? (members[at + 2] ?? '') : from])
    if (isRange) at += 2
  }
  return { type: 'class', isNegated, ranges }
}

/** Follows all ways through the pattern at once. */
function matches(tokens: readonly Token[], text: readonly string[], separator: string): boolean {
  let now = withSkipped(tokens, [0])
  for (const character of text) {
    const next = [...now].flatMap((at) => {
      const token = tokens[at]
      if (token === undefined || !accepts(token, character, separator)) return []
      return [token.type === 'many' ? at : at + 1]
    })
    now = withSkipped(tokens, next)
    if (now.size === 0) return false
  }
  return now.has(tokens.length)
}

/** Adds the places after `*`, which may match nothing. */
function withSkipped(tokens: readonly Token[], places: readonly number[]): Set<number> {
  const found = new Set<number>()
  for (let place of places) {
    found.add(place)
    while (tokens[place]?.type === 'many') found.add((place += 1))
  }
  return found
}

function accepts(token: Token, character: string, separator: string): boolean {
  switch (token.type) {
    case 'text':
      return token.character === character
    case 'one':
      return character !== separator
    case 'many':
      return token.crosses || character !== separator
    default:
      return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.isNegated
  }
}

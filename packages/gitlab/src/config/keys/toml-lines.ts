/** Where tables and keys stand in a TOML text. The library gives values without their places. */

/** Keys and positions in arrays, from the root. */
export type Path = readonly (string | number)[]

export interface Header {
  readonly path: Path
  /** 0 for the first line. */
  readonly line: number
}

export interface TomlLines {
  readonly headers: readonly Header[]
  /** Returns the line of a key or table, 1 for the first; the line of the nearest table around it if it has no line of its own. */
  lineOf(path: Path): number
}

const HEADER = /^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$/
const KEY = /^\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=(.*)$/
const WORD = /"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+)/g

/** Finds the places in a valid text. */
export function tomlLines(text: string): TomlLines {
  const places = new Map<string, number>()
  const headers: Header[] = []
  /** Number of tables in each array of tables, by its path. */
  const counts = new Map<string, number>()
  let table: Path = []
  let open = ''
  for (const [line, content] of text.split('\n').entries()) {
    if (open !== '') {
      open = stillOpen(open, content)
      continue
    }
    const header = HEADER.exec(content)
    if (header !== null) {
      table = resolve(words(header[2] ?? ''), { isArray: header[1] === '[[', counts })
      headers.push({ path: table, line })
      places.set(keyOf(table), line)
      continue
    }
    const key = KEY.exec(content)
    if (key === null) continue
    places.set(keyOf([...table, ...words(key[1] ?? '')]), line)
    open = stillOpen('', key[2] ?? '')
  }
  return {
    headers,
    lineOf(path) {
      for (let length = path.length; length > 0; length -= 1) {
        const line = places.get(keyOf(path.slice(0, length)))
        if (line !== undefined) return line + 1
      }
      return 1
    },
  }
}

const keyOf = (path: Path): string => JSON.stringify(path)

function words(dotted: string): string[] {
  return [...dotted.matchAll(WORD)].map(([, quoted, literal, bare]) => quoted ?? literal ?? bare ?? '')
}

/** Inserts positions behind the names of arrays of tables. A table below such an array belongs to its last element. */
function resolve(names: readonly string[], { isArray, counts }: { isArray: boolean; counts: Map<string, number> }): Path {
  const path: (string | number)[] = []
  for (const [n, name] of names.entries()) {
    path.push(name)
    const key = keyOf(path)
    if (isArray && n === names.length - 1) counts.set(key, (counts.get(key) ?? 0) + 1)
    const count = counts.get(key)
    if (count !== undefined) path.push(count - 1)
  }
  return path
}

/**
 * Returns what is open after the text: the quotes of a string of several lines, `[` for each array or table, or nothing.
 * `open` is what was open before.
 */
function stillOpen(open: string, content: string): string {
  let state = open
  for (let at = 0; at < content.length; at += 1) {
    const three = content.slice(at, at + 3)
    if (state.endsWith('"""') || state.endsWith("'''")) {
      if (state.endsWith('"""') && content[at] === '\\') at += 1
      else if (state.endsWith(three)) {
        state = state.slice(0, -3)
        at += 2
      }
      continue
    }
    if (three === '"""' || three === "'''") {
      state += three
      at += 2
    } else if (content[at] === '"' || content[at] === "'") at = closingQuote(content, at)
    else if (content[at] === '#') break
    else if (content[at] === '[' || content[at] === '{') state += '['
    else if ((content[at] === ']' || content[at] === '}') && state.endsWith('[')) state = state.slice(0, -1)
  }
  return state
}

function closingQuote(content: string, start: number): number {
  const quote = content[start]
  for (let at = start + 1; at < content.length; at += 1) {
    if (quote === '"' && content[at] === '\\') at += 1
    else if (content[at] === quote) return at
  }
  return content.length
}

/** Finds the place of a cursor in a document by its indentation, so that it also works while the document does not parse. */

/** A mapping around the cursor, or the item of a list. Outermost first. */
export type Container =
  | {
      readonly kind: 'map'
      readonly column: number
      /** Keys of the mapping with what follows their colon on the same line. Without the line of the cursor. */
      readonly entries: Map<string, string>
      /** The key that leads to the next container. Undefined for the innermost one. */
      readonly via: string | undefined
    }
  | { readonly kind: 'item'; readonly column: number }

export interface Place {
  readonly containers: readonly Container[]
  /** The key of the line if the cursor is after its colon. */
  readonly key: string | undefined
  /** What is written before the cursor of the key or the value, and where it begins. */
  readonly written: string
  readonly from: number
  /** True within a text of several lines, a comment, or braces. */
  readonly isText: boolean
}

interface Token {
  readonly column: number
  /** Undefined for the dash of an item. */
  readonly key: string | undefined
  readonly value: string
}

const KEY = /^(?:"([^"]*)"|'([^']*)'|([^\s:#'"[\]{}&*!|>%@`,-][^:#]*?|-[^\s:#]+))[ \t]*:(?:[ \t]+|$)/

/** Reads the dashes and the key of a line. `rest` is what follows them. */
function readLine(line: string): { readonly tokens: Token[]; readonly rest: string; readonly column: number } {
  const tokens: Token[] = []
  let column = line.length - line.trimStart().length
  let rest = line.slice(column)
  while (/^-(?:[ \t]|$)/.test(rest)) {
    tokens.push({ column, key: undefined, value: '' })
    const after = rest.slice(1)
    const width = 1 + after.length - after.trimStart().length
    column += width
    rest = rest.slice(width)
  }
  const match = KEY.exec(rest)
  const key = match?.[1] ?? match?.[2] ?? match?.[3]
  if (key !== undefined) tokens.push({ column, key, value: rest.slice(match?.[0].length).trim() })
  return { tokens, rest, column }
}

/** Returns true if a mapping or list can follow on the next lines. */
function isOpen(value: string): boolean {
  return /^(?:[&!]\S+[ \t]*)?(?:#.*)?$/.test(value)
}

function isBlank(line: string): boolean {
  return /^\s*(?:#|$)/.test(line)
}

/** Returns the place of an offset in a text. */
export function placeAt(text: string, offset: number): Place {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const before = text.slice(start, offset)
  const { tokens, rest, column } = readLine(before)
  const own = tokens.at(-1)?.key === undefined ? undefined : tokens.at(-1)
  const written = own === undefined ? rest : own.value
  const dashes = tokens.filter(({ key }) => key === undefined)
  const lines = text.slice(0, Math.max(0, start - 1)).split('\n')
  const above = start === 0 ? [] : lines.filter((line) => !isBlank(line)).flatMap((line) => readLine(line).tokens)
  const { containers, isText } = climb([...above, ...dashes], column)
  const below = text.slice(offset).split('\n').slice(1)
  descend(below, containers)
  return {
    containers,
    key: own?.key,
    written,
    from: offset - written.length,
    isText: isText || /(?:^|\s)#/.test(before) || /[{[]/.test(own?.value ?? rest),
  }
}

/** Goes from the cursor to the root and collects what is around it. */
function climb(tokens: readonly Token[], column: number): { containers: Container[]; isText: boolean } {
  let isText = false
  let inner: Container = { kind: 'map', column, entries: new Map(), via: undefined }
  const containers: Container[] = [inner]
  for (const token of tokens.toReversed()) {
    if (token.key === undefined) {
      if (token.column >= inner.column) continue
      inner = { kind: 'item', column: token.column }
      containers.unshift(inner)
    } else if (inner.kind === 'map' && token.column === inner.column) inner.entries.set(token.key, token.value)
    else if (token.column < inner.column || (inner.kind === 'item' && token.column === inner.column)) {
      if (!isOpen(token.value)) isText = true
      inner = { kind: 'map', column: token.column, entries: new Map([[token.key, token.value]]), via: token.key }
      containers.unshift(inner)
    }
  }
  return { containers, isText }
}

/** Adds the keys that follow the line of the cursor to their mappings. */
function descend(lines: readonly string[], containers: readonly Container[]): void {
  let open = [...containers]
  for (const line of lines) {
    if (isBlank(line)) continue
    const { tokens, column } = readLine(line)
    const first = tokens[0]?.column ?? column
    const isItem = tokens[0]?.key === undefined && tokens.length > 0
    open = open.filter((one) =>
      isItem ? one.column < first || (one.kind === 'map' && one.column <= first) : one.column <= first,
    )
    // An item or a mapping at the column of an open item begins something else.
    while (open.at(-1)?.kind === 'item') open.pop()
    const last = open.at(-1)
    if (last === undefined) return
    const token = tokens[0]
    if (token?.key !== undefined && last.kind === 'map' && token.column === last.column && !last.entries.has(token.key))
      last.entries.set(token.key, token.value)
  }
}

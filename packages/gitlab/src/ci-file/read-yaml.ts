/** Reads the YAML of a `.gitlab-ci.yml`: YAML 1.1 with anchors, `<<` and `!reference`, as GitLab reads it. */
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Node as YamlNode,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import {
  invalid,
  listNode,
  MAX_VALUES,
  MergeLimit,
  scalarNode,
  tableNode,
  type CiWarning,
  type Entry,
  type Node,
  type Place,
  type TableNode,
} from './node.ts'

/** Deepest nesting. */
const MAX_DEPTH = 100

const REFERENCE = '!reference'

/** Returns the table of a file. Throws `document-invalid` with the line. Warnings are added to `warnings`. */
export function readYaml(text: string, file: string, warnings: CiWarning[]): TableNode {
  const lineCounter = new LineCounter()
  const documents = parseAllDocuments(text, { version: '1.1', lineCounter, uniqueKeys: false, prettyErrors: false })
  // Without a document, the library returns a list with a marker.
  const [document, second] = Array.isArray(documents) ? documents : []
  const start: Place = { file, line: 1 }
  const error = document?.errors[0] ?? second?.errors[0]
  if (error !== undefined)
    throw invalid({ file, line: lineCounter.linePos(error.pos[0]).line }, `the YAML is not valid: ${error.message}`)
  if (second !== undefined)
    throw invalid(
      start,
      'the file has a header with `spec`, or several documents',
      'A local run does not fill in inputs. Write the values into the file.',
    )
  const root = document?.contents
  if (root === null || root === undefined) throw invalid(start, 'the file is empty')
  const node = new Reader({ file, lineCounter, warnings }).read(root, 0)
  if (node.kind !== 'table') throw invalid(node.at, 'the file must be a table of jobs and settings')
  return node
}

interface ReaderOptions {
  readonly file: string
  readonly lineCounter: LineCounter
  readonly warnings: CiWarning[]
}

class Reader {
  readonly #options: ReaderOptions
  /** Values of anchors so far; undefined while the anchored value is being read. */
  readonly #anchors = new Map<string, Node | undefined>()
  readonly #merges = new MergeLimit(MAX_VALUES)

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(node: YamlNode, depth: number): Node {
    const at = this.#placeOf(node)
    if (depth > MAX_DEPTH) throw invalid(at, `the nesting is deeper than ${MAX_DEPTH}`)
    if (isAlias(node)) {
      const value = this.#anchors.get(node.source)
      if (value === undefined)
        throw invalid(
          at,
          `the alias *${node.source} ${this.#anchors.has(node.source) ? 'is within its own anchor' : 'has no anchor'}`,
        )
      return value
    }
    if (node.tag?.startsWith('!') === true && !(isSeq(node) && node.tag === REFERENCE))
      throw invalid(at, `the tag ${node.tag} is not known here`, 'GitLab has `!reference [JOB, KEY]`.')
    const anchor = isMap(node) || isSeq(node) || isScalar(node) ? node.anchor : undefined
    if (anchor !== undefined) this.#anchors.set(anchor, undefined)
    const value = this.#readValue(node, { at, depth })
    if (anchor !== undefined) this.#anchors.set(anchor, value)
    return value
  }

  #readValue(node: YamlNode, where: { readonly at: Place; readonly depth: number }): Node {
    if (isMap(node)) return this.#readMap(node, where)
    if (isSeq(node)) return this.#readSeq(node, where)
    if (isScalar(node)) return scalarNode(where.at, plainValue(node))
    throw invalid(where.at, 'the value is not known')
  }

  #readSeq(node: YAMLSeq, { at, depth }: { readonly at: Place; readonly depth: number }): Node {
    // The library has checked that items of a list are nodes.
    const items = node.items.map((item) => this.read(item as YamlNode, depth + 1))
    if (node.tag !== REFERENCE) return listNode(at, items)
    const path = items.map((item) => (item.kind === 'scalar' && item.value !== null ? String(item.value) : undefined))
    const names = path.filter((name) => name !== undefined)
    if (names.length === 0 || names.length !== path.length)
      throw invalid(at, '!reference takes a list of names', 'Write `!reference [JOB, KEY]`.')
    return { kind: 'reference', at, path: names, size: 1 }
  }

  #readMap(node: YAMLMap, { at, depth }: { readonly at: Place; readonly depth: number }): TableNode {
    const own = new Map<string, Entry>()
    const merged: ReadonlyMap<string, Entry>[] = []
    for (const { key, value } of node.items) {
      // The library has checked that both are nodes; a missing value is null.
      const keyNode = key as YamlNode
      const keyAt = this.#placeOf(keyNode)
      const read = value === null ? scalarNode(keyAt, null) : this.read(value as YamlNode, depth + 1)
      if (isMergeKey(keyNode))
        for (const { entries } of tablesOf(read)) {
          // An empty table also costs something.
          this.#merges.take(keyAt, entries.size + 1)
          merged.push(entries)
        }
      else {
        const name = this.#nameOf(keyNode)
        if (own.has(name)) this.#options.warnings.push({ ...keyAt, message: `"${name}" is given twice; the last one is used` })
        own.set(name, { at: keyAt, value: read })
      }
    }
    if (merged.length === 0) return tableNode(at, own)
    // The first of several tables wins, and a key of this table wins over all.
    const entries = new Map<string, Entry>()
    for (const each of [...merged.toReversed(), own]) for (const [name, entry] of each) entries.set(name, entry)
    return tableNode(at, entries)
  }

  #nameOf(key: YamlNode): string {
    const node = isAlias(key) ? this.read(key, 0) : undefined
    if (node?.kind === 'scalar') return String(node.value)
    if (isScalar(key)) return key.source ?? String(key.value)
    throw invalid(this.#placeOf(key), 'a key must be a text')
  }

  #placeOf(node: YamlNode | null): Place {
    const { file, lineCounter } = this.#options
    return { file, line: lineCounter.linePos(node?.range?.[0] ?? 0).line }
  }
}

function isMergeKey(key: YamlNode): boolean {
  return isScalar(key) && (typeof key.value === 'symbol' || (key.value === '<<' && key.type === 'PLAIN'))
}

function tablesOf(node: Node): TableNode[] {
  if (node.kind === 'table') return [node]
  if (node.kind === 'list') return node.items.flatMap((item) => tablesOf(item))
  throw invalid(node.at, '`<<` takes a table, or a list of tables')
}

function plainValue({ value, source }: Scalar): string | number | boolean | null {
  if (value === null || typeof value === 'number' || typeof value === 'string') return value
  // For GitLab, `y` and `n` are texts.
  if (typeof value === 'boolean' && !/^[yn]$/i.test(source ?? '')) return value
  // Dates and other types of YAML 1.1 are what the file has.
  return source ?? ''
}

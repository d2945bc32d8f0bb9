/**
 * Parses YAML text to a tree with positions, within limits: 1 MiB, 250,000 tokens, 100 levels, 1,000 aliases, 500,000 nodes and 2 MiB of text
 * after aliases are expanded, no custom tags, one document. The cost is linear in the text. The `yaml` package parses the syntax; everything that
 * it could make expensive is limited here first.
 */
import { Composer, isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Alias, Document, Node, ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import type { Diagnostic } from '../language/diagnostic.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import { MAX_DEPTH, readTokens } from './read-tokens.ts'
import type { BrokenToken } from './read-tokens.ts'
import { Report } from './report.ts'
import type { Range } from './source.ts'
import { SourceText } from './source.ts'
import { sizeOf } from './tree.ts'
import type { Entry, MapNode, ScalarStyle, TreeNode } from './tree.ts'

export const MAX_SOURCE_BYTES = 1_048_576
const MAX_NODES = 500_000
/** Limit for all texts and keys after aliases are expanded. */
const MAX_CHARS = 2 * MAX_SOURCE_BYTES

/** A text and its name in diagnostics. */
export interface Source {
  readonly text: string
  readonly file: string
}

export interface Parsed {
  readonly source: SourceText
  /** Absent if there are errors, or if the document is empty. */
  readonly root?: TreeNode
  readonly problems: readonly Diagnostic[]
}

/** Parses one document. Never throws; errors are in `problems`. */
export function parseYaml({ text, file }: Source): Parsed {
  const source = new SourceText(text, file)
  const report = new Report(source)
  const root = parseInto(source, report)
  const problems = sortProblems(report.problems)
  return { source, problems, ...(root !== undefined && !hasErrors(problems) && { root }) }
}

function parseInto(source: SourceText, report: Report): TreeNode | undefined {
  const { text } = source
  if (text.length > MAX_SOURCE_BYTES || new TextEncoder().encode(text).length > MAX_SOURCE_BYTES) {
    report.error('too-large', { start: 0, end: 0 }, 'the document is larger than 1 MiB', {
      hint: 'Move scripts and data to files in the repository.',
    })
    return undefined
  }
  const { tokens, broken } = readTokens(text, report)
  if (broken.length > 0) reportBroken(broken, report)
  if (tokens === undefined) return undefined
  const composer = new Composer({ merge: true, uniqueKeys: false, strict: true, prettyErrors: false, version: '1.2' })
  const [document] = withoutStacks(() => [...composer.compose(tokens)])
  if (document !== undefined) reportSyntax([...document.errors, ...document.warnings], report)
  if (document === undefined || document.contents === null || document.errors.length > 0) return undefined
  return new TreeBuilder(document, report).build(document.contents)
}

/** Runs `work` without stack traces: the `yaml` package creates an `Error` for each problem, and its unused stack is most of the cost. */
function withoutStacks<T>(work: () => T): T {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return work()
  } finally {
    Error.stackTraceLimit = before
  }
}

function reportBroken(broken: readonly BrokenToken[], report: Report): void {
  reportSyntax(
    broken.map(({ message, offset, source }) => ({
      message,
      code: 'UNEXPECTED_TOKEN',
      pos: [offset, offset + Math.max(1, source.length)],
    })),
    report,
  )
}

interface SyntaxProblem {
  readonly message: string
  readonly code: string
  readonly pos: readonly [start: number, end: number]
}

/** Reports only the first syntax error of each line, because the others are usually consequences of it. */
function reportSyntax(found: readonly SyntaxProblem[], report: Report): void {
  const lines = new Set<number>()
  for (const { message, pos, code } of found) {
    const { line } = report.source.placeOf(pos[0])
    const what = code === 'TAG_RESOLVE_FAILED' ? 'yaml-tag' : code === 'BAD_ALIAS' ? 'yaml-alias' : 'yaml-syntax'
    if (what === 'yaml-syntax' && lines.has(line)) continue
    lines.add(line)
    const hint = what === 'yaml-syntax' ? syntaxHint(report.source.line(line), { code, message }) : ''
    report.error(what, { start: pos[0], end: pos[1] }, message, { hint })
  }
}

function syntaxHint(line: string, { code, message }: Pick<SyntaxProblem, 'code' | 'message'>): string {
  const isUnclosed = /^Flow (?:map|sequence) in block collection/.test(message)
  if (!isUnclosed && (code === 'BAD_INDENT' || message.startsWith('Nested mappings are not allowed in compact mappings')))
    return 'Start all keys of a mapping in the same column: check the spaces before this line.'
  const variable = line.indexOf('${{')
  const inFlow = variable > 0 && ['{', '[', ','].some((sign) => line.lastIndexOf(sign, variable - 1) >= 0)
  if (inFlow) return 'Quote a variable inside { } and [ ]: "${{NAME}}".'
  if (isUnclosed) return 'Close the [ or { above this line with ] or }.'
  if (code === 'MULTILINE_IMPLICIT_KEY')
    return 'Write a colon after each key, such as `steps:`, and quote a text that contains one.'
  if (code === 'MISSING_CHAR' && message.includes('quote')) return 'Close the quote above this line where its text ends.'
  return 'Quote a text that contains a colon or other YAML characters, or use a block scalar (|-).'
}

const TOO_LARGE = 'the document is too large after its aliases are expanded'

const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])
const CORE_TAG = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq|merge)$/
const STYLES: Readonly<Record<string, ScalarStyle>> = {
  PLAIN: 'plain',
  QUOTE_SINGLE: 'single',
  QUOTE_DOUBLE: 'double',
  BLOCK_LITERAL: 'literal',
  BLOCK_FOLDED: 'folded',
}

class TreeBuilder {
  private readonly document: Document.Parsed
  private readonly report: Report
  private readonly anchors = new Map<string, Node>()
  private readonly built = new Map<Node, TreeNode>()
  private readonly open = new Set<Node>()
  private mergedKeys = 0

  constructor(document: Document.Parsed, report: Report) {
    this.document = document
    this.report = report
  }

  /** Returns the tree of the whole document, or undefined if it is too large after aliases are expanded. */
  build(root: ParsedNode): TreeNode | undefined {
    const tree = this.node(root)
    const { nodes, depth, chars } = sizeOf(tree)
    if (nodes <= MAX_NODES && depth <= 2 * MAX_DEPTH && chars <= MAX_CHARS) return tree
    this.report.error('too-large', tree.range, TOO_LARGE)
    return undefined
  }

  private node(node: Node): TreeNode {
    if (isAlias(node)) return this.alias(node)
    if (node.anchor !== undefined) this.anchors.set(node.anchor, node)
    const known = this.built.get(node)
    if (known !== undefined) return known
    this.checkTag(node)
    this.open.add(node)
    const tree = isMap(node) ? this.map(node) : isSeq(node) ? this.list(node) : this.scalar(node)
    this.open.delete(node)
    this.built.set(node, tree)
    return tree
  }

  private alias(alias: Alias): TreeNode {
    const target = this.anchors.get(alias.source)
    if (target !== undefined && !this.open.has(target)) return this.node(target)
    const range = rangeOf(alias)
    const message =
      target === undefined
        ? `the anchor "&${alias.source}" is not defined before this alias`
        : `the alias "*${alias.source}" refers to a node that contains it`
    this.report.error('yaml-alias', range, message)
    return emptyScalar(range)
  }

  private map(node: YAMLMap): MapNode {
    const entries = new Map<string, Entry>()
    const merged: TreeNode[] = []
    for (const pair of node.items) {
      if (isScalar(pair.key) && pair.key.value !== null && isMergeKey(pair.key)) {
        if (pair.value !== null && pair.value !== undefined) merged.push(this.node(toNode(pair.value)))
        continue
      }
      const keyRange = rangeOf(pair.key, node.range?.[0])
      const key = this.key(pair.key, keyRange)
      if (key === undefined) continue
      const value =
        pair.value === null || pair.value === undefined
          ? emptyScalar({ start: keyRange.end, end: keyRange.end })
          : this.node(toNode(pair.value))
      if (entries.has(key))
        this.report.error('duplicate-key', keyRange, `duplicate key "${key}"`, {
          hint: 'Remove or rename one of them.',
        })
      else entries.set(key, { key, keyRange, value })
    }
    for (const source of merged.flatMap((one) => (one.kind === 'list' ? one.items : [one]))) this.merge(source, entries)
    return measured({ kind: 'map', range: rangeOf(node), entries })
  }

  /** Merges a map. Keys of the map itself override merged ones, and earlier merged keys override later ones. */
  private merge(source: TreeNode, entries: Map<string, Entry>): void {
    if (source.kind === 'map') this.mergedKeys += source.entries.size
    if (this.mergedKeys > MAX_NODES) return this.report.error('too-large', { start: 0, end: 0 }, TOO_LARGE)
    if (source.kind !== 'map')
      return this.report.error('wrong-type', source.range, '"<<" must be a mapping or a list of mappings')
    for (const [key, entry] of source.entries) if (!entries.has(key)) entries.set(key, entry)
  }

  private key(key: unknown, range: Range): string | undefined {
    const target = isAlias(key) ? this.anchors.get(key.source) : key
    if (!isScalar(target) || target.value === null) {
      this.report.error('wrong-type', range, 'a key must be a string')
      return undefined
    }
    const text = typeof target.value === 'string' ? target.value : (target.source ?? JSON.stringify(target.value))
    if (!FORBIDDEN_KEYS.has(text)) return text
    this.report.error('forbidden-key', range, `"${text}" is not allowed as a key`)
    return undefined
  }

  private list(node: YAMLSeq): TreeNode {
    const items = node.items.map((item) => this.node(toNode(item)))
    return measured({ kind: 'list', range: rangeOf(node), items })
  }

  private scalar(node: Node): TreeNode {
    const range = rangeOf(node)
    if (!isScalar(node)) return emptyScalar(range)
    const { value, source } = node
    const simple = value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    return {
      kind: 'scalar',
      range,
      value: simple ? value : (source ?? null),
      style: STYLES[node.type ?? 'PLAIN'] ?? 'plain',
      written: source ?? '',
    }
  }

  private checkTag(node: Node): void {
    const tag = 'tag' in node ? node.tag : undefined
    if (tag === undefined || CORE_TAG.test(tag)) return
    if (this.document.warnings.some(({ code }) => code === 'TAG_RESOLVE_FAILED')) return
    this.report.error('yaml-tag', rangeOf(node), `the tag ${tag} is not allowed`)
  }
}

/** Measures a tree while it is built, from the inside out, so that no deep tree has to be walked later. */
function measured<T extends TreeNode>(tree: T): T {
  sizeOf(tree)
  return tree
}

function isMergeKey(key: Scalar): boolean {
  return (key.value === '<<' && key.type === 'PLAIN') || typeof key.value === 'symbol'
}

function toNode(value: unknown): Node {
  if (isAlias(value) || isMap(value) || isSeq(value) || isScalar(value)) return value
  throw new TypeError('the parser returned something that is not a node')
}

function rangeOf(node: unknown, fallback = 0): Range {
  const isNode = isAlias(node) || isMap(node) || isSeq(node) || isScalar(node)
  const range = isNode ? node.range : undefined
  return range === undefined || range === null
    ? { start: fallback, end: fallback }
    : { start: range[0], end: Math.max(range[0], range[1]) }
}

function emptyScalar(range: Range): TreeNode {
  return { kind: 'scalar', range, value: null, style: 'plain', written: '' }
}

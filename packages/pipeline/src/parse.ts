/**
 * YAML text to a tree with positions, within bounds: 1 MiB, 100 levels, 1,000 aliases, 500,000 nodes and 8 MiB of text once aliases are followed, no tags of
 * one's own, one document. The cost is linear in the text. The `yaml` package reads the syntax; everything it could make expensive is
 * bounded here before it is asked.
 */
import { Composer, isAlias, isMap, isScalar, isSeq, Parser } from 'yaml'
import type { Alias, CST, Document, Node, ParsedNode, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import type { Diagnostic } from './diagnostic.ts'
import { hasErrors, sortProblems } from './diagnostic.ts'
import { Report } from './report.ts'
import type { Range } from './source.ts'
import { SourceText } from './source.ts'
import { sizeOf } from './tree.ts'
import type { Entry, MapNode, ScalarStyle, TreeNode } from './tree.ts'

export const MAX_SOURCE_BYTES = 1_048_576
export const MAX_DEPTH = 100
export const MAX_ALIASES = 1_000
const MAX_NODES = 500_000
/** Of all texts once aliases are followed. */
const MAX_CHARS = 8 * MAX_SOURCE_BYTES

/** A text and the name that diagnostics give it. */
export interface Source {
  readonly text: string
  readonly file: string
}

export interface Parsed {
  readonly source: SourceText
  /** Absent when there are errors, or the document is empty. */
  readonly root?: TreeNode
  readonly problems: readonly Diagnostic[]
}

/** Parses one document. Never throws: what is wrong is told in `problems`. */
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
      hint: 'Move scripts and data to files of the repository.',
    })
    return undefined
  }
  const tokens = [...new Parser().parse(text)]
  if (!boundsHold(tokens, report)) return undefined
  const composer = new Composer({ merge: true, uniqueKeys: false, strict: true, prettyErrors: false, version: '1.2' })
  const [document] = [...composer.compose(tokens)]
  if (document !== undefined) reportSyntax([...document.errors, ...document.warnings], report)
  if (document === undefined || document.contents === null || document.errors.length > 0) return undefined
  return new TreeBuilder(document, report).build(document.contents)
}

interface SyntaxProblem {
  readonly message: string
  readonly code: string
  readonly pos: readonly [start: number, end: number]
}

/** The first error of a line alone: the others are mostly its echoes. */
function reportSyntax(found: readonly SyntaxProblem[], report: Report): void {
  const lines = new Set<number>()
  for (const { message, pos, code } of found) {
    const { line } = report.source.placeOf(pos[0])
    const what = code === 'TAG_RESOLVE_FAILED' ? 'yaml-tag' : code === 'BAD_ALIAS' ? 'yaml-alias' : 'yaml-syntax'
    if (what === 'yaml-syntax' && lines.has(line)) continue
    lines.add(line)
    const hint = what === 'yaml-syntax' ? syntaxHint(report.source.line(line)) : ''
    report.error(what, { start: pos[0], end: pos[1] }, message, { hint })
  }
}

function syntaxHint(line: string): string {
  const variable = line.indexOf('${{')
  const inFlow = variable > 0 && ['{', '[', ','].some((sign) => line.lastIndexOf(sign, variable - 1) >= 0)
  if (inFlow) return 'Inside { } and [ ] a variable needs quotes: "${{NAME}}".'
  return 'A text with a colon or other YAML signs needs quotes or a block scalar (|-).'
}

/** Depth and aliases, counted on the flat tokens so that no recursion is at risk. */
function boundsHold(tokens: readonly CST.Token[], report: Report): boolean {
  const [, second] = tokens.filter(({ type }) => type === 'document')
  if (second !== undefined) {
    report.error('several-documents', { start: second.offset, end: second.offset + 1 }, 'the file holds more than one document', {
      hint: 'Keep one document in each file.',
    })
    return false
  }
  const broken = tokens.filter((token) => token.type === 'error')
  if (broken.length > 0) {
    reportSyntax(
      broken.map(({ message, offset, source }) => ({
        message,
        code: 'UNEXPECTED_TOKEN',
        pos: [offset, offset + Math.max(1, source.length)],
      })),
      report,
    )
    return false
  }
  let aliases = 0
  const open: { token: CST.Token; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next
    const range = { start: token.offset, end: token.offset + 1 }
    if (depth > MAX_DEPTH) {
      report.error('too-deep', range, `the document is nested more than ${MAX_DEPTH} levels deep`)
      return false
    }
    if (token.type === 'alias') aliases += 1
    if (aliases > MAX_ALIASES) {
      report.error('yaml-alias', range, `the document has more than ${MAX_ALIASES} aliases`)
      return false
    }
    for (const inner of insideOf(token)) open.push({ token: inner, depth: depth + (token.type === 'document' ? 0 : 1) })
  }
  return true
}

function* insideOf(token: CST.Token): Generator<CST.Token> {
  if (token.type === 'document') {
    if (token.value !== undefined) yield token.value
  } else if (token.type === 'block-map' || token.type === 'block-seq' || token.type === 'flow-collection') {
    for (const item of token.items) {
      if (item.key !== undefined && item.key !== null) yield item.key
      if (item.value !== undefined) yield item.value
    }
  }
}

const TOO_LARGE = 'the document is too large once its aliases are followed'

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

  /** The tree of the whole document, or undefined when it is too large once aliases are followed. */
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
        ? `there is no anchor "&${alias.source}" before this alias`
        : `the alias "*${alias.source}" refers to what it is inside of`
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
        this.report.error('duplicate-key', keyRange, `"${key}" stands twice in this mapping`, {
          hint: 'Remove or rename one of them.',
        })
      else entries.set(key, { key, keyRange, value })
    }
    for (const source of merged.flatMap((one) => (one.kind === 'list' ? one.items : [one]))) this.merge(source, entries)
    return measured({ kind: 'map', range: rangeOf(node), entries })
  }

  /** A key that stands in the map itself wins over a merged one, the earlier of two merged ones wins. */
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
      this.report.error('wrong-type', range, 'a key must be a text')
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

/** Measured while it is built, from the inside out, so that no deep tree has to be walked later. */
function measured<T extends TreeNode>(tree: T): T {
  sizeOf(tree)
  return tree
}

function isMergeKey(key: Scalar): boolean {
  return (key.value === '<<' && key.type === 'PLAIN') || typeof key.value === 'symbol'
}

function toNode(value: unknown): Node {
  if (isAlias(value) || isMap(value) || isSeq(value) || isScalar(value)) return value
  throw new TypeError('the parser gave something that is no node')
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

/** Reads YAML text to the tokens of its one document. Counts while reading, so that a text beyond a limit is rejected before it is expensive. */
import { CST, Lexer, Parser } from 'yaml'
import type { Report } from './report.ts'

export const MAX_DEPTH = 100
export const MAX_ALIASES = 1_000
/** Tokens as the lexer of `yaml` counts them, including line ends. A pipeline of 25,000 lines has about as many. */
export const MAX_PIECES = 250_000
/** The parser's stack contains the document, the collections around a token, and the token. */
const MAX_STACK = MAX_DEPTH + 10

/** A token that the parser could not place. */
export interface BrokenToken {
  readonly message: string
  readonly offset: number
  readonly source: string
}

export interface Tokens {
  /** Undefined if a limit is exceeded or a token is broken. */
  readonly tokens?: readonly CST.Token[]
  readonly broken: readonly BrokenToken[]
}

/** Reads the tokens. Reports exceeded limits; leaves broken tokens to the caller. */
export function readTokens(text: string, report: Report): Tokens {
  const tokens = parseBounded(text, report)
  if (tokens === undefined) return { broken: [] }
  const [, second] = tokens.filter(({ type }) => type === 'document')
  if (second !== undefined) {
    report.error(
      'several-documents',
      { start: second.offset, end: second.offset + 1 },
      'the file contains more than one document',
      {
        hint: 'Write each document to its own file.',
      },
    )
    return { broken: [] }
  }
  const broken = tokens.filter((token) => token.type === 'error')
  if (broken.length > 0) return { broken }
  return isWithinLimits(tokens, report) ? { tokens, broken } : { broken }
}

function parseBounded(text: string, report: Report): CST.Token[] | undefined {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let pieces = 0
  for (const piece of new Lexer().lex(text)) {
    pieces += 1 + (piece.startsWith('"') ? escapesIn(piece) : 0)
    if (pieces > MAX_PIECES) {
      const message = `the document has more than ${MAX_PIECES.toLocaleString('en')} YAML tokens`
      report.error('too-large', { start: parser.offset, end: parser.offset }, message, {
        hint: 'Move scripts and data to files in the repository.',
      })
      return undefined
    }
    tokens.push(...parser.next(piece))
    if (parser.stack.length > MAX_STACK) {
      reportDepth(parser.offset, report)
      return undefined
    }
  }
  tokens.push(...parser.end())
  return tokens
}

/** Escapes of double-quoted strings that can spell a word: a character by its number, and a joined line. */
const SPELLS = /\\[xuU\r\n]/

/**
 * Returns true if the text has aliases, or escapes that can spell a key in other characters. Otherwise the tree of the document is no larger than its
 * text, and its keys stand in the text as they are. The lexer decides, because an expression that recognizes an anchor or an alias can be evaded.
 */
export function hasAliasOrSpelling(text: string): boolean {
  // Most documents are not read twice: `&&` and `*` are common in commands, but rarely together.
  if (!(text.includes('&') && text.includes('*')) && !SPELLS.test(text)) return false
  let isScalar = false
  for (const piece of new Lexer().lex(text)) {
    if (!isScalar && (piece.startsWith('*') || (piece.startsWith('"') && SPELLS.test(piece)))) return true
    isScalar = piece === CST.SCALAR
  }
  return false
}

/** Counts the escapes of a quoted string, each of which can be a separate error. */
function escapesIn(quoted: string): number {
  let count = 0
  for (let at = quoted.indexOf('\\'); at >= 0; at = quoted.indexOf('\\', at + 1)) count += 1
  return count
}

function reportDepth(offset: number, report: Report): void {
  report.error('too-deep', { start: offset, end: offset + 1 }, `the document is nested more than ${MAX_DEPTH} levels deep`)
}

/** Checks depth and aliases on the flat tokens, without recursion. */
function isWithinLimits(tokens: readonly CST.Token[], report: Report): boolean {
  let aliases = 0
  const open: { token: CST.Token; depth: number }[] = tokens.map((token) => ({ token, depth: 0 }))
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next
    if (depth > MAX_DEPTH) {
      reportDepth(token.offset, report)
      return false
    }
    if (token.type === 'alias') aliases += 1
    if (aliases > MAX_ALIASES) {
      const range = { start: token.offset, end: token.offset + 1 }
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

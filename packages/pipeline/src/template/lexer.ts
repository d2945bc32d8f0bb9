/** Splits template text into text and the tokens of actions, with the trim markers and comments of Go. Linear in the text. */
import { TemplateProblem } from './template-error.ts'

export interface Delimiters {
  readonly left: string
  readonly right: string
}

export type TokenKind =
  | 'dot'
  | 'field'
  | 'variable'
  | 'word'
  | 'string'
  | 'number'
  | 'pipe'
  | 'comma'
  | 'declare'
  | 'assign'
  | 'open'
  | 'close'

export interface Token {
  readonly kind: TokenKind
  /** For strings the value, for fields the name without the dot, otherwise as written. */
  readonly text: string
  readonly offset: number
  /** True if white space precedes it. */
  readonly spaced: boolean
}

export type Piece =
  | { readonly kind: 'text'; readonly text: string; readonly offset: number }
  | { readonly kind: 'action'; readonly tokens: readonly Token[]; readonly offset: number }

const MAX_PIECES = 100_000
const WHITE = ' \t\r\n'

/** Splits a template. Throws TemplateProblem for an unclosed action or an unexpected character. */
export function splitTemplate(text: string, delimiters: Delimiters): Piece[] {
  const pieces: Piece[] = []
  let at = 0
  let trimNext = false
  while (at <= text.length) {
    const open = findOpening(text, delimiters.left, at)
    const end = open < 0 ? text.length : open
    let raw = text.slice(at, end)
    let offset = at
    if (trimNext) {
      const kept = trimStart(raw)
      offset += raw.length - kept.length
      raw = kept
    }
    if (open < 0) {
      if (raw !== '') pieces.push({ kind: 'text', text: raw, offset })
      return pieces
    }
    const action = readAction(text, open, delimiters)
    if (action.trimsBefore) raw = trimEnd(raw)
    if (raw !== '') pieces.push({ kind: 'text', text: raw, offset })
    if (action.tokens !== undefined) pieces.push({ kind: 'action', tokens: action.tokens, offset: open })
    if (pieces.length > MAX_PIECES) throw new TemplateProblem('the template has too many actions', open)
    trimNext = action.trimsAfter
    at = action.end
  }
  return pieces
}

/** Finds the next action. With the default delimiters `${{NAME}}` is a pipeline variable, not an action. */
function findOpening(text: string, left: string, from: number): number {
  let at = text.indexOf(left, from)
  while (left === '{{' && at > 0 && text[at - 1] === '$') at = text.indexOf(left, at + left.length)
  return at
}

function trimStart(text: string): string {
  let at = 0
  while (at < text.length && WHITE.includes(text[at] ?? '')) at += 1
  return text.slice(at)
}

function trimEnd(text: string): string {
  let end = text.length
  while (end > 0 && WHITE.includes(text[end - 1] ?? '')) end -= 1
  return text.slice(0, end)
}

interface Action {
  /** Absent for a comment. */
  readonly tokens?: readonly Token[]
  readonly end: number
  readonly trimsBefore: boolean
  readonly trimsAfter: boolean
}

function readAction(text: string, open: number, { left, right }: Delimiters): Action {
  let at = open + left.length
  const trimsBefore = text[at] === '-' && WHITE.includes(text[at + 1] ?? 'x')
  if (trimsBefore) at += 2
  if (text.startsWith('/*', at)) return readComment(text, { at, right, trimsBefore })
  const tokens: Token[] = []
  let depth = 0
  for (;;) {
    const start = at
    while (at < text.length && WHITE.includes(text[at] ?? '')) at += 1
    const spaced = at > start
    const trimsAfter = spaced && text.startsWith(`-${right}`, at)
    if (trimsAfter || text.startsWith(right, at)) {
      if (depth > 0) throw new TemplateProblem('unclosed left paren', at)
      return { tokens, end: at + (trimsAfter ? 1 : 0) + right.length, trimsBefore, trimsAfter }
    }
    if (at >= text.length) throw new TemplateProblem('unclosed action', open)
    const { token, end } = readToken(text, at, { spaced, right })
    depth += token.kind === 'open' ? 1 : token.kind === 'close' ? -1 : 0
    if (depth < 0) throw new TemplateProblem('unexpected right paren', at)
    tokens.push(token)
    at = end
  }
}

function readComment(text: string, of: { at: number; right: string; trimsBefore: boolean }): Action {
  const close = text.indexOf('*/', of.at)
  if (close < 0) throw new TemplateProblem('unclosed comment', of.at)
  let at = close + 2
  const trimsAfter = WHITE.includes(text[at] ?? 'x') && text.startsWith(`-${of.right}`, at + 1)
  if (trimsAfter) at += 2
  if (!text.startsWith(of.right, at)) throw new TemplateProblem('comment ends before closing delimiter', at)
  return { end: at + of.right.length, trimsBefore: of.trimsBefore, trimsAfter }
}

const WORD = /[\p{L}_][\p{L}\p{Nd}_]*/uy
const NUMBER = /[+-]?(?:0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:[0-9][0-9_]*)?\.?[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?\.?)/y
const SIMPLE: Readonly<Record<string, TokenKind>> = { '|': 'pipe', ',': 'comma', '=': 'assign', '(': 'open', ')': 'close' }

function match(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

function readToken(text: string, at: number, of: { spaced: boolean; right: string }): { token: Token; end: number } {
  const { spaced } = of
  const made = (kind: TokenKind, end: number, value = text.slice(at, end)): { token: Token; end: number } => ({
    token: { kind, text: value, offset: at, spaced },
    end,
  })
  const first = text[at] ?? ''
  const simple = SIMPLE[first]
  if (simple !== undefined) return made(simple, at + 1)
  if (text.startsWith(':=', at)) return made('declare', at + 2)
  if (first === '"' || first === "'") return readQuoted(text, at, made)
  if (first === '`') {
    const close = text.indexOf('`', at + 1)
    if (close < 0) throw new TemplateProblem('unterminated raw quoted string', at)
    return made('string', close + 1, text.slice(at + 1, close))
  }
  if (first === '$') return made('variable', at + 1 + (match(WORD, text, at + 1) ?? '').length)
  if (first === '.') {
    const name = match(WORD, text, at + 1)
    if (name !== undefined) return made('field', at + 1 + name.length, name)
    if (!/[0-9]/.test(text[at + 1] ?? '')) return made('dot', at + 1)
  }
  const word = match(WORD, text, at)
  if (word !== undefined) return made('word', at + word.length)
  const number = match(NUMBER, text, at)
  if (number !== undefined) return made('number', at + number.length)
  throw new TemplateProblem(`unexpected ${JSON.stringify(first)} in an action`, at)
}

type Made = (kind: TokenKind, end: number, value?: string) => { token: Token; end: number }

/** Reads a quoted token: double quotes give a string, single quotes one character as its code point. */
function readQuoted(text: string, at: number, made: Made): { token: Token; end: number } {
  const quote = text[at] ?? '"'
  let end = at + 1
  while (end < text.length && text[end] !== quote && text[end] !== '\n') end += text[end] === '\\' ? 2 : 1
  if (text[end] !== quote) throw new TemplateProblem('unterminated quoted string', at)
  const value = unescape(text.slice(at + 1, end), at)
  if (quote === '"') return made('string', end + 1, value)
  if (Array.from(value).length !== 1) throw new TemplateProblem('malformed character constant', at)
  return made('number', end + 1, String(value.codePointAt(0)))
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
}

function unescape(raw: string, offset: number): string {
  return raw.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|([\s\S]?))/g,
    (_all, ...[hex, short, long, octal, letter]: (string | undefined)[]) => {
      if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
      const digits = hex ?? short ?? long
      const code = digits === undefined ? undefined : Number.parseInt(digits, 16)
      if (code !== undefined && code <= 0x10ffff) return String.fromCodePoint(code)
      const plain = ESCAPES[letter ?? '']
      if (plain === undefined) throw new TemplateProblem('bad escape in a quoted string', offset)
      return plain
    },
  )
}

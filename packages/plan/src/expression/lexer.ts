import { ExpressionError } from './values.ts'

/** A part of a quoted string: literal characters or a `${{NAME}}` reference. */
export type TextPart = string | { readonly name: string }

/** `at` and `end`: 0-based offsets in the expression. */
export type Token =
  | { readonly kind: 'number'; readonly value: number; readonly at: number; readonly end: number }
  | { readonly kind: 'text'; readonly parts: readonly TextPart[]; readonly at: number; readonly end: number }
  | { readonly kind: 'name'; readonly name: string; readonly at: number; readonly end: number }
  | { readonly kind: 'reference'; readonly name: string; readonly at: number; readonly end: number }
  | { readonly kind: 'sign'; readonly sign: string; readonly at: number; readonly end: number }
  | { readonly kind: 'end'; readonly at: number; readonly end: number }

const SPACE = /[\s\uFEFF]+/y
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y
const NAME = /[A-Za-z_]\w*/y
const SIGN = /===|!==|==|!=|<=|>=|\|\||&&|[<>+\-*/%!(),.]/y

/** Splits an expression into tokens. Throws ExpressionError at an unexpected character. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while ((at = skipSpace(text, at)) < text.length) {
    const token = nextToken(text, at)
    tokens.push(token)
    at = token.end
  }
  tokens.push({ kind: 'end', at: text.length, end: text.length })
  return tokens
}

function skipSpace(text: string, at: number): number {
  return at + matchAt(SPACE, text, at).length
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0] ?? ''
}

function nextToken(text: string, at: number): Token {
  const reference = referenceAt(text, at)
  if (reference !== undefined) return { kind: 'reference', ...reference, at }
  const char = text[at]
  if (char === '"' || char === "'") return quoted(text, at, char)
  const number = matchAt(NUMBER, text, at)
  if (number !== '') return { kind: 'number', value: Number(number), at, end: at + number.length }
  const name = matchAt(NAME, text, at)
  if (name !== '') return { kind: 'name', name, at, end: at + name.length }
  const sign = matchAt(SIGN, text, at)
  if (sign !== '') return { kind: 'sign', sign, at, end: at + sign.length }
  throw new ExpressionError(`unexpected character ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`, at)
}

function referenceAt(text: string, at: number): { name: string; end: number } | undefined {
  if (!text.startsWith('${{', at)) return undefined
  const close = text.indexOf('}}', at + 4)
  return close < 0 ? undefined : { name: text.slice(at + 3, close), end: close + 2 }
}

function quoted(text: string, start: number, quote: string): Token {
  const parts: TextPart[] = []
  let plain = ''
  let at = start + 1
  while (at < text.length) {
    const char = text[at]
    if (char === quote) {
      if (plain !== '') parts.push(plain)
      return { kind: 'text', parts, at: start, end: at + 1 }
    }
    const reference = referenceAt(text, at)
    if (reference !== undefined) {
      if (plain !== '') parts.push(plain)
      parts.push({ name: reference.name })
      plain = ''
      at = reference.end
      continue
    }
    const read = char === '\\' ? escaped(text, at) : { char: char ?? '', end: at + 1 }
    plain += read.char
    at = read.end
  }
  throw new ExpressionError('unterminated string', start)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v', '0': '\0' }

/** Reads a JavaScript backslash escape; before any other character the backslash is dropped. */
function escaped(text: string, at: number): { char: string; end: number } {
  const code = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/.exec(text.slice(at, at + 10))
  const hex = code?.[1] ?? code?.[2] ?? code?.[3]
  if (code !== null && hex !== undefined) {
    const point = Number.parseInt(hex, 16)
    if (point > 0x10ffff) throw new ExpressionError('invalid Unicode code point', at)
    return { char: String.fromCodePoint(point), end: at + code[0].length }
  }
  const next = text[at + 1]
  if (next === undefined) throw new ExpressionError('unterminated string', at)
  return { char: Object.hasOwn(ESCAPES, next) ? (ESCAPES[next] ?? next) : next, end: at + 2 }
}

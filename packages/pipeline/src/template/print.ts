/** Formats values as Go's fmt does. */
import { FunctionProblem } from './template-error.ts'
import { isList, isMap, sortedKeys, typeName } from './values.ts'
import type { TemplateValue } from './values.ts'

/** Formats a value as an action prints it. */
export function show(value: TemplateValue): string {
  return value === null ? '<no value>' : plain(value)
}

/** Formats a value with the verb `%v`. */
export function plain(value: TemplateValue): string {
  if (value === null) return '<nil>'
  if (typeof value === 'number') return showNumber(value)
  if (isList(value)) return `[${value.map(plain).join(' ')}]`
  if (isMap(value))
    return `map[${sortedKeys(value)
      .map((key) => `${key}:${plain(value.get(key) ?? null)}`)
      .join(' ')}]`
  return String(value)
}

/** Formats a number in its shortest form, with an exponent of at least two digits below 1e-4 and from 1e21. */
function showNumber(value: number): string {
  const size = Math.abs(value)
  if (size === 0 || (size >= 1e-4 && size < 1e21)) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

/** Joins operands, with spaces between two operands that are not strings. */
export function sprint(values: readonly TemplateValue[]): string {
  let text = ''
  for (const [index, value] of values.entries()) {
    const before = values[index - 1]
    if (index > 0 && typeof value !== 'string' && typeof before !== 'string') text += ' '
    text += plain(value)
  }
  return text
}

const MAX_WIDTH = 10_000
const VERB = /%([-+# 0]*)(\d+)?(?:\.(\d*))?([\s\S])?/gu

/** Implements `printf`. Errors are part of the text, as in Go (`%!d(string=x)`). */
export function sprintf(format: string, values: readonly TemplateValue[]): string {
  let next = 0
  const text = format.replace(VERB, (_all, ...[flags = '', width, precision, verb]: (string | undefined)[]) => {
    if (verb === undefined) return '%!(NOVERB)'
    if (verb === '%') return '%'
    const value = values[next]
    next += 1
    if (value === undefined) return `%!${verb}(MISSING)`
    const options = {
      flags,
      width: bound(width),
      precision: precision === undefined ? undefined : bound(precision === '' ? '0' : precision),
    }
    return pad(formatValue(value, verb, options), verb, options)
  })
  const extra = values.slice(next).map((value) => (value === null ? '<nil>' : `${typeName(value)}=${plain(value)}`))
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`
}

interface Options {
  readonly flags: string
  readonly width: number | undefined
  readonly precision: number | undefined
}

function bound(written: string | undefined): number | undefined {
  if (written === undefined) return undefined
  const number = Number(written)
  if (number > MAX_WIDTH) throw new FunctionProblem(`width ${written} is too large`)
  return number
}

function pad(text: string, verb: string, { flags, width = 0 }: Options): string {
  const missing = width - Array.from(text).length
  if (missing <= 0) return text
  if (flags.includes('-')) return text + ' '.repeat(missing)
  if (!flags.includes('0') || 'sqv'.includes(verb)) return ' '.repeat(missing) + text
  const sign = /^[+-]/.exec(text)?.[0] ?? ''
  return sign + '0'.repeat(missing) + text.slice(sign.length)
}

function formatValue(value: TemplateValue, verb: string, options: Options): string {
  if (verb === 'T') return typeName(value)
  if (verb === 'v') return options.flags.includes('#') && typeof value === 'string' ? quote(value) : plain(value)
  if (isList(value)) return `[${value.map((item) => formatValue(item, verb, options)).join(' ')}]`
  if (isMap(value)) {
    const entries = sortedKeys(value).map(
      (key) => `${formatValue(key, verb, options)}:${formatValue(value.get(key) ?? null, verb, options)}`,
    )
    return `map[${entries.join(' ')}]`
  }
  const wrong = value === null ? `%!${verb}(<nil>)` : `%!${verb}(${typeName(value)}=${plain(value)})`
  if (typeof value === 'string') return formatText(value, verb, options) ?? wrong
  if (typeof value === 'number') return formatNumber(value, verb, options) ?? wrong
  return verb === 't' && value !== null ? String(value) : wrong
}

function formatText(value: string, verb: string, { precision, flags }: Options): string | undefined {
  const text = precision === undefined ? value : Array.from(value).slice(0, precision).join('')
  switch (verb) {
    case 's':
      return text
    case 'q':
      return flags.includes('#') && !text.includes('`') ? `\`${text}\`` : quote(text)
    case 'x':
    case 'X': {
      const hex = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
      return verb === 'x' ? hex : hex.toUpperCase()
    }
    default:
      return undefined
  }
}

const RADIX: Readonly<Record<string, number>> = { d: 10, b: 2, o: 8, x: 16, X: 16 }

function formatNumber(value: number, verb: string, { flags, precision }: Options): string | undefined {
  const sign = flags.includes('+') && value >= 0 ? '+' : flags.includes(' ') && value >= 0 ? ' ' : ''
  const radix = RADIX[verb]
  if (radix !== undefined) {
    if (!Number.isInteger(value)) return undefined
    const digits = sign + value.toString(radix)
    return verb === 'X' ? digits.toUpperCase() : digits
  }
  const places = Math.min(precision ?? 6, 100)
  if (verb === 'f' || verb === 'F') return sign + value.toFixed(places)
  if (verb === 'e' || verb === 'E') {
    const text = sign + value.toExponential(places).replace(/e([+-])(\d)$/, 'e$10$2')
    return verb === 'E' ? text.toUpperCase() : text
  }
  if (verb === 'g') return sign + showNumber(value)
  const isCode = Number.isInteger(value) && value >= 0 && value <= 0x10ffff
  if (verb === 'c' || verb === 'q')
    return isCode ? (verb === 'c' ? String.fromCodePoint(value) : `'${String.fromCodePoint(value)}'`) : undefined
  return verb === 'U' && isCode ? `U+${value.toString(16).toUpperCase().padStart(4, '0')}` : undefined
}

/** Quotes a text with Go's escapes. */
export function quote(text: string): string {
  const inner = text.replace(/["\\\p{Cc}]/gu, (char) => {
    const known = ({ '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' } as const)[char as '"']
    return known ?? `\\x${(char.codePointAt(0) ?? 0).toString(16).padStart(2, '0')}`
  })
  return `"${inner}"`
}

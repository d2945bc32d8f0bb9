/** Functions for strings. Where gomplate and sprig differ in argument order, gomplate's is used, because Codefresh step types expect it. */
import { matchesPattern, PatternError } from '@windlass/plan'
import { checkLength, fixed, listOf, ofTexts, textOf, wholeOf } from './function-kinds.ts'
import type { TemplateFunction } from './function-kinds.ts'
import { quote } from './print.ts'
import { FunctionProblem } from './template-error.ts'
import { isList } from './values.ts'

function trimSet(text: string, set: string, sides: 'left' | 'right' | 'both'): string {
  const chars = Array.from(text)
  let start = 0
  let end = chars.length
  if (sides !== 'right') while (start < end && set.includes(chars[start] ?? '')) start += 1
  if (sides !== 'left') while (end > start && set.includes(chars[end - 1] ?? '')) end -= 1
  return chars.slice(start, end).join('')
}

const replaceAll = ofTexts(3, (old, fresh, text) => {
  const count = old === '' ? text.length + 1 : text.split(old).length - 1
  checkLength(text.length + count * fresh.length)
  return text.replaceAll(old, () => fresh)
})

const join: TemplateFunction = fixed(2, (a = null, b = null) => {
  const [list, separator] = isList(a) ? [a, b] : [listOf(b), a]
  const parts = list.map(textOf)
  const glue = textOf(separator)
  checkLength(parts.reduce((sum, part) => sum + part.length + glue.length, 0))
  return parts.join(glue)
})

const repeat = fixed(2, (count = null, text = null) => {
  const times = Math.max(0, wholeOf(count))
  checkLength(times * textOf(text).length)
  return textOf(text).repeat(times)
})

function indentBy(width: number, text: string): string {
  checkLength(text.length + text.split('\n').length * Math.max(0, width))
  return text.replace(/^(?=[^\n])/gm, ' '.repeat(Math.max(0, width)))
}

const indent = fixed(2, (width = null, text = null) => indentBy(wholeOf(width), textOf(text)))
const nindent = fixed(2, (width = null, text = null) => `\n${indentBy(wholeOf(width), textOf(text))}`)
const split = ofTexts(2, (text, separator) => text.split(separator))
const splitN: TemplateFunction = fixed(3, (text = null, separator = null, count = null) => {
  const parts = textOf(text).split(textOf(separator))
  const most = wholeOf(count)
  if (most < 0 || parts.length <= most) return parts
  return most === 0 ? [] : [...parts.slice(0, most - 1), parts.slice(most - 1).join(textOf(separator))]
})
const title = ofTexts(1, (text) => text.replace(/(?<=^|\s)\p{Ll}/gu, (char) => char.toUpperCase()))
const upper = ofTexts(1, (text) => text.toUpperCase())
const lower = ofTexts(1, (text) => text.toLowerCase())
const trimSpace = ofTexts(1, (text) => text.trim())
const trimPrefix = ofTexts(2, (prefix, text) => (text.startsWith(prefix) ? text.slice(prefix.length) : text))
const trimSuffix = ofTexts(2, (suffix, text) => (suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text))
const squote = ofTexts(1, (text) => `'${text.replaceAll("'", "''")}'`)
const quoted = ofTexts(1, (text) => quote(text))
const slug = ofTexts(1, (text) => trimSet(text.toLowerCase().replace(/[^a-z0-9_]+/g, '-'), '-', 'both'))
const trunc = fixed(2, (count = null, text = null) => {
  const most = wholeOf(count)
  const chars = Array.from(textOf(text))
  return (most < 0 ? chars.slice(most) : chars.slice(0, most)).join('')
})
const encode = ofTexts(1, (text) =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join('')),
)
const decode = ofTexts(1, (text) => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (char) => char.codePointAt(0) ?? 0))
  } catch {
    throw new FunctionProblem('the string is not base64')
  }
})
const matches = ofTexts(2, (pattern, text) => {
  try {
    return matchesPattern(pattern, '', text)
  } catch (error) {
    if (error instanceof PatternError) throw new FunctionProblem(`invalid regular expression: ${error.message}`)
    throw error
  }
})

/** String functions by name. Those with the text as last argument can be used in pipelines. */
export const TEXT_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  contains: ofTexts(2, (text, part) => text.includes(part)),
  hasPrefix: ofTexts(2, (text, prefix) => text.startsWith(prefix)),
  hasSuffix: ofTexts(2, (text, suffix) => text.endsWith(suffix)),
  'strings.Contains': ofTexts(2, (part, text) => text.includes(part)),
  'strings.HasPrefix': ofTexts(2, (prefix, text) => text.startsWith(prefix)),
  'strings.HasSuffix': ofTexts(2, (suffix, text) => text.endsWith(suffix)),
  trim: {
    least: 1,
    most: 2,
    run: ([text = null, set]) => (set === undefined ? textOf(text).trim() : trimSet(textOf(text), textOf(set), 'both')),
  },
  'strings.Trim': ofTexts(2, (set, text) => trimSet(text, set, 'both')),
  'strings.TrimLeft': ofTexts(2, (set, text) => trimSet(text, set, 'left')),
  'strings.TrimRight': ofTexts(2, (set, text) => trimSet(text, set, 'right')),
  trimAll: ofTexts(2, (set, text) => trimSet(text, set, 'both')),
  split,
  splitN,
  'strings.Split': ofTexts(2, (separator, text) => text.split(separator)),
  'strings.SplitN': fixed(3, (separator = null, count = null, text = null) => splitN.run([text, separator, count])),
  splitList: ofTexts(2, (separator, text) => text.split(separator)),
  join,
  'conv.Join': join,
  replaceAll,
  replace: replaceAll,
  'strings.ReplaceAll': replaceAll,
  repeat,
  'strings.Repeat': repeat,
  indent,
  nindent,
  'strings.Indent': indent,
  title,
  'strings.Title': title,
  toUpper: upper,
  upper,
  'strings.ToUpper': upper,
  toLower: lower,
  lower,
  'strings.ToLower': lower,
  trimSpace,
  'strings.TrimSpace': trimSpace,
  trimPrefix,
  'strings.TrimPrefix': trimPrefix,
  trimSuffix,
  'strings.TrimSuffix': trimSuffix,
  squote,
  'strings.Squote': squote,
  quote: quoted,
  'strings.Quote': quoted,
  slug,
  'strings.Slug': slug,
  trunc,
  'strings.Trunc': trunc,
  b64enc: encode,
  'base64.Encode': encode,
  b64dec: decode,
  'base64.Decode': decode,
  regexMatch: matches,
  'regexp.Match': matches,
}

/** The state of colors and styles in output with escape sequences (SGR, ECMA-48 8.3.117, and the colors of ITU-T T.416). */
import { COLORS } from './sequences.ts'

/** Parameter -> the attribute that it sets. */
const STYLES: Readonly<Record<number, string>> = {
  1: 'bold',
  2: 'faint',
  3: 'italic',
  4: 'underline',
  5: 'blink',
  6: 'blink',
  7: 'inverse',
  8: 'hidden',
  9: 'strike',
  21: 'underline',
}
/** Parameter -> the attributes that it resets. */
const RESETS: Readonly<Record<number, readonly string[]>> = {
  22: ['bold', 'faint'],
  23: ['italic'],
  24: ['underline'],
  25: ['blink'],
  27: ['inverse'],
  28: ['hidden'],
  29: ['strike'],
  39: ['foreground'],
  49: ['background'],
}
/** Longer parameters are ignored. Characters. */
const MAX_PARAMETER = 32
/** Parameters of one SGR sequence that sets what is in force, such as `1;31`; empty if nothing is. */
export type Style = string

/** Returns the style after the text. */
export function colorsAfter(text: string, before: Style = ''): Style {
  const state = attributesOf(before)
  for (const [, parameters = ''] of text.matchAll(COLORS)) apply(state, parameters)
  return [...state.values()].join(';')
}

/** Returns the style after an SGR sequence with these parameters. */
export function styleAfter(parameters: string, before: Style): Style {
  const state = attributesOf(before)
  apply(state, parameters)
  return [...state.values()].join(';')
}

/** Returns the parameters of each attribute of a style: `foreground`, `background`, `bold` and others. */
export function attributesOf(style: Style): Map<string, string> {
  const state = new Map<string, string>()
  if (style !== '') apply(state, style)
  return state
}

function apply(state: Map<string, string>, parameters: string): void {
  const parts = parameters.split(';')
  for (let at = 0; at < parts.length;) {
    const part = parts[at] ?? ''
    const code = Number(part.split(':')[0])
    const length = code === 38 || code === 48 ? colorLength(parts, at) : 1
    const whole = parts.slice(at, at + length).join(';')
    at += length
    if (whole.length > MAX_PARAMETER) continue
    if (code === 0) state.clear()
    else if (part === '4:0') state.delete('underline')
    else if (RESETS[code] !== undefined) for (const name of RESETS[code]) state.delete(name)
    else set(state, attributeOf(code), whole)
  }
}

/** Sets an attribute. The latest one comes last. */
function set(state: Map<string, string>, name: string | undefined, parameters: string): void {
  if (name === undefined) return
  state.delete(name)
  state.set(name, parameters)
}

function attributeOf(code: number): string | undefined {
  if ((code >= 30 && code <= 38) || (code >= 90 && code <= 97)) return 'foreground'
  if ((code >= 40 && code <= 48) || (code >= 100 && code <= 107)) return 'background'
  return STYLES[code]
}

/** Returns the number of parameters of a color: `38;5;N`, `38;2;R;G;B`, or one with colons. */
function colorLength(parts: readonly string[], at: number): number {
  if (parts[at]?.includes(':')) return 1
  if (parts[at + 1] === '5') return 3
  return parts[at + 1] === '2' ? 5 : 1
}

/** The forms in which a secret may appear in output: raw, line by line, and in the encodings that tools print. */
import { linesOfSecret, SHORTEST_SECRET, whyUnmasked } from '@windlass/plan'

/** Longer values are masked raw and line by line, but not in their encodings. Bytes. */
const MAX_ENCODED_BYTES = 65_536

/** Returns every byte sequence to mask. Values and lines that `whyUnmasked` names are skipped. */
export function secretForms(values: Iterable<string>): Buffer[] {
  const forms = new Map<string, Buffer>()
  const add = (bytes: Buffer): void => {
    if (bytes.length >= SHORTEST_SECRET) forms.set(bytes.toString('latin1'), bytes)
  }
  for (const value of values) {
    for (const text of [value, ...linesOfSecret(value)]) {
      if (whyUnmasked(text) !== undefined) continue
      const bytes = Buffer.from(text)
      add(bytes)
      if (bytes.length <= MAX_ENCODED_BYTES) for (const form of encodingsOf(text, bytes)) add(form)
    }
  }
  return [...forms.values()]
}

function* encodingsOf(text: string, bytes: Buffer): Generator<Buffer> {
  for (const shift of [0, 1, 2]) {
    const core = base64Core(bytes, shift)
    yield Buffer.from(core)
    yield Buffer.from(core.replaceAll('+', '-').replaceAll('/', '_'))
  }
  const url = toUrl(text)
  yield Buffer.from(url)
  yield Buffer.from(url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))
  yield Buffer.from(url.replaceAll('%20', '+'))
  const json = JSON.stringify(text).slice(1, -1)
  yield Buffer.from(json)
  yield Buffer.from(toAscii(json, (hex) => hex))
  yield Buffer.from(toAscii(json, (hex) => hex.toUpperCase()))
}

/** Escapes non-ASCII characters, as the JSON of Python and PHP does by default. */
function toAscii(json: string, digits: (hex: string) => string): string {
  const code = (unit: string): string => `\\u${digits(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`
  return json.replaceAll(/[\u0080-\uffff]/g, code)
}

function toUrl(text: string): string {
  // A lone surrogate has no URL form.
  return encodeURIComponent(text.toWellFormed())
}

/** Returns the base64 characters that depend only on the secret if `shift` bytes precede it. */
function base64Core(bytes: Buffer, shift: number): string {
  const padded = Buffer.concat([Buffer.alloc(shift), bytes])
  const text = padded.toString('base64').replace(/=+$/, '')
  const start = Math.ceil((shift * 8) / 6)
  const end = Math.floor((padded.length * 8) / 6)
  return text.slice(start, end)
}

/** The ways in which a secret may show up in output: as it is, line by line, and in the encodings that tools print. */

/** Shorter values are not masked: they would turn half the log into asterisks (pipeline language 4.6). */
export const SHORTEST_SECRET = 3
/** Values longer than that are masked as they are and line by line, not in their encodings. */
const LONGEST_ENCODED = 65_536

/** Every byte sequence to look for. Values shorter than 3 characters give none. */
export function secretForms(values: Iterable<string>): Buffer[] {
  const forms = new Map<string, Buffer>()
  const add = (bytes: Buffer): void => {
    if (bytes.length >= SHORTEST_SECRET) forms.set(bytes.toString('latin1'), bytes)
  }
  for (const value of values) {
    if (value.length < SHORTEST_SECRET) continue
    for (const text of [value, ...linesOf(value)]) {
      const bytes = Buffer.from(text)
      add(bytes)
      if (bytes.length <= LONGEST_ENCODED) for (const form of encodingsOf(text, bytes)) add(form)
    }
  }
  return [...forms.values()]
}

/** Lines of a secret of several lines, without the white space around them; a terminal or a log prints them apart. */
function linesOf(value: string): string[] {
  if (!value.includes('\n')) return []
  return value
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_SECRET)
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
  yield Buffer.from(JSON.stringify(text).slice(1, -1))
}

function toUrl(text: string): string {
  // A lone surrogate has no URL form.
  return encodeURIComponent(text.toWellFormed())
}

/** The characters of the base64 of some text around the secret that depend on the secret alone, `shift` bytes standing before it. */
function base64Core(bytes: Buffer, shift: number): string {
  const padded = Buffer.concat([Buffer.alloc(shift), bytes])
  const text = padded.toString('base64').replace(/=+$/, '')
  const start = Math.ceil((shift * 8) / 6)
  const end = Math.floor((padded.length * 8) / 6)
  return text.slice(start, end)
}

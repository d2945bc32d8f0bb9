/** What a JSON text has, counted before it is parsed: small objects take many times their bytes in memory. */

/** Maximum number of lists and objects inside each other, far below the depth at which code that visits them exhausts the stack. */
export const MAX_JSON_DEPTH = 200

/** Fields and list items that can still be parsed, for texts that have one limit together. */
export interface JsonParts {
  readonly max: number
  left: number
}

const QUOTE = 0x22
const COMMA = 0x2c
/** `[` and `{`, `]` and `}`. They differ in one bit. */
const [OPENING, CLOSING, EITHER] = [0x7b, 0x7d, 0x20]

/**
 * Takes what a JSON text has from `parts`, and returns what it has too much of: fields and list items, or levels. Counts outside of strings, so that the content of documents
 * does not count.
 */
export function excessOf(text: string, parts: JsonParts): 'parts' | 'levels' | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfText(text, at)
    else if (code === COMMA) parts.left -= 1
    else if ((code | EITHER) === OPENING) {
      parts.left -= 1
      depth += 1
    } else if ((code | EITHER) === CLOSING) depth -= 1
    if (parts.left < 0) return 'parts'
    if (depth > MAX_JSON_DEPTH) return 'levels'
  }
  return undefined
}

/** Returns the index of the quote that ends the string at `start`, or the end of the text if there is none. */
function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) if (!isEscaped(text, at)) return at
  return text.length
}

function isEscaped(text: string, at: number): boolean {
  let from = at
  while (text[from - 1] === '\\') from -= 1
  return (at - from) % 2 === 1
}

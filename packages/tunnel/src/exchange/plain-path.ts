/** Paths that mean the same to every server that reads them. */

/**
 * Returns true for a path without dot segments, also in the forms that a server may see after it decodes the path once or twice, splits it at `\`, or ignores what
 * follows `;` or spaces around a segment. Returns false for a path that cannot be decoded, and for one with control characters. The query is not part of a path.
 */
export function isPlainPath(path: string): boolean {
  const segments = decodedSegments(path)
  return segments !== undefined && !segments.some((segment) => isDot(segment) || hasControl(segment))
}

/** What splits segments, moves, or is ignored around them. */
const SPECIAL = /%(?:2e|2f|5c|3b|20)/gi

/** Splits a path at every separator that a server might see, which may decode it once more than the router. Undefined for a path that cannot be decoded. */
function decodedSegments(path: string): string[] | undefined {
  // The second time only what is special: another part that cannot be decoded must not hide it.
  return decodeOnce(path)
    ?.replaceAll(SPECIAL, (code) => decodeURIComponent(code))
    .split(/[/\\]/)
}

function isDot(segment: string): boolean {
  const [name = ''] = segment.split(';')
  return ['.', '..'].includes(name.trim())
}

function hasControl(segment: string): boolean {
  return /\p{Cc}/u.test(segment)
}

/** Decodes the percent encoding of a text once. Returns undefined if the result is not UTF-8. */
export function decodeOnce(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

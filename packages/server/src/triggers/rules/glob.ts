/**
 * Globs of branches and paths. picomatch translates a glob to a regular expression, which `matchesPattern` runs in bounded time, because the
 * native engine can take exponential time for a glob of a user.
 */
import { checkPattern, matchesPattern, PatternError } from '@windlass/plan'
import picomatch from 'picomatch'

/** Maximum characters of one alternative. */
const MAX_GLOB = 2_000

/** A glob with its alternatives. */
export interface Glob {
  /** True if it starts with `!`: it matches what none of the alternatives matches. */
  readonly isNegated: boolean
  readonly alternatives: readonly string[]
}

/** Splits `!{a/**,b/**}` into its parts. Braces inside an alternative stay part of it. */
export function readGlob(written: string): Glob {
  const text = written.trim()
  // `!(a)` is an extended glob and not a negation.
  const isNegated = text.startsWith('!') && !text.startsWith('!(')
  const body = (isNegated ? text.slice(1) : text).trim()
  return {
    isNegated,
    alternatives: splitBraces(body)
      .map(normalize)
      .filter((one) => one !== ''),
  }
}

/** Returns the alternatives of `{a,b}` if the braces enclose the whole text, otherwise the text. */
function splitBraces(text: string): string[] {
  if (!text.startsWith('{') || !text.endsWith('}')) return [text]
  const parts: string[] = []
  let depth = 0
  let from = 1
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]
    if (char === '\\') index += 1
    else if (char === '{') depth += 1
    else if (char === '}') {
      depth -= 1
      if (depth === 0 && index < text.length - 1) return [text]
    } else if (char === ',' && depth === 1) {
      parts.push(text.slice(from, index))
      from = index + 1
    }
  }
  return [...parts, text.slice(from, -1)].map((part) => part.trim())
}

/** `./x`, `/x` and `x` are the same path, and `a//b` means any depth. */
function normalize(glob: string): string {
  return glob.replace(/^(?:\.?\/)+(?=[^/])/, '').replace(/\/\/+/g, '/**/')
}

/** Returns the alternative that matches the path. Throws `PatternError` for an alternative that cannot be used. */
export function matchingAlternative({ alternatives }: Glob, path: string): string | undefined {
  const plain = path.replace(/^(?:\.?\/)+/, '')
  return alternatives.find((one) => matchesPattern(toPattern(one), '', plain))
}

/** Throws `PatternError` if an alternative cannot be used on any path. */
export function checkGlob(written: string): void {
  const { alternatives } = readGlob(written)
  if (alternatives.length === 0) throw new PatternError('it is empty')
  for (const one of alternatives) checkPattern(toPattern(one), '')
}

/** Patterns by their glob. Deliveries of one repository use the same ones again and again. */
const patterns = new Map<string, string>()
const MAX_PATTERNS = 2_000

function toPattern(glob: string): string {
  const known = patterns.get(glob)
  if (known !== undefined) return known
  if (glob.length > MAX_GLOB) throw new PatternError(`it is longer than ${MAX_GLOB} characters`)
  // A trailing `**` of Codefresh includes everything below, which picomatch only does for a whole segment.
  const { source } = picomatch.makeRe(glob, { strictSlashes: true, windows: false })
  if (patterns.size >= MAX_PATTERNS) patterns.clear()
  patterns.set(glob, source)
  return source
}

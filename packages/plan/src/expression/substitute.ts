/**
 * Substitutes `${{NAME}}` references. Values are inserted after the document was parsed, so no value can break it. The meaning of names is in
 * `scope.ts`; expressions keep references as operands (`expression.ts`).
 */
import type { Template } from '../fields/template.ts'

/** Defines the names at one place of a build. */
export interface Scope {
  /** Returns the value of a name as written between the braces, or undefined if it is not defined. */
  lookup(name: string): string | undefined
}

export interface Substitution {
  readonly text: string
  /** Undefined names, each once; their references stay in the text. */
  readonly unresolved: readonly string[]
  /** True if the result would be too long or too expensive; references beyond the limit stay in the text. */
  readonly overflow: boolean
}

/** Maximum depth of values that refer to other names. */
export const MAX_REFERENCE_DEPTH = 10
const MAX_RESULT_CHARS = 1_048_576
const MAX_LOOKUPS = 20_000

export interface Reference {
  readonly name: string
  /** Offsets in the text: of the `$`, and just after the last brace. */
  readonly start: number
  readonly end: number
}

/** Finds all references of a text in order: `${{`, at least one character (shortest match), `}}`. Linear in the text. */
export function findReferences(text: Template): Reference[] {
  const found: Reference[] = []
  let at = 0
  for (;;) {
    const start = text.indexOf('${{', at)
    if (start < 0) return found
    const close = text.indexOf('}}', start + 4)
    if (close < 0) return found
    found.push({ name: text.slice(start + 3, close), start, end: close + 2 })
    at = close + 2
  }
}

/** Returns the name if the whole text is one reference (`${{NAME}}`), otherwise undefined. */
export function exactReference(text: Template): string | undefined {
  const [only, ...more] = findReferences(text)
  if (only === undefined || more.length > 0 || only.start !== 0 || only.end !== text.length) return undefined
  return only.name
}

interface Work {
  readonly scope: Scope
  readonly unresolved: Set<string>
  lookups: number
  chars: number
  overflow: boolean
}

/**
 * Substitutes every reference of `text`. An undefined name stays as written. A value that contains references is substituted too, ten levels
 * deep; a reference that leads back to itself stays as written.
 */
export function substitute(text: Template, scope: Scope): Substitution {
  const work: Work = { scope, unresolved: new Set(), lookups: 0, chars: 0, overflow: false }
  const filled = fill(text, work, [])
  return { text: filled, unresolved: [...work.unresolved], overflow: work.overflow }
}

function fill(text: Template, work: Work, trail: readonly string[]): string {
  let filled = ''
  let at = 0
  for (const { name, start, end } of findReferences(text)) {
    filled += text.slice(at, start) + (valueOf(name, work, trail) ?? text.slice(start, end))
    at = end
  }
  return at === 0 ? text : filled + text.slice(at)
}

function valueOf(name: string, work: Work, trail: readonly string[]): string | undefined {
  if (trail.includes(name) || trail.length >= MAX_REFERENCE_DEPTH || work.overflow) return undefined
  const value = work.scope.lookup(name) ?? work.scope.lookup(name.trim())
  if (value === undefined) {
    work.unresolved.add(name)
    return undefined
  }
  work.lookups += 1
  work.chars += value.length
  if (work.lookups > MAX_LOOKUPS || work.chars > MAX_RESULT_CHARS) {
    work.overflow = true
    return undefined
  }
  return fill(value, work, [...trail, name])
}

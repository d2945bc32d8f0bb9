/** Versions of step types: Semantic Versioning 2.0 (semver.org). */

const PATTERN =
  /^(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})\.(0|[1-9]\d{0,15})(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/

interface Version {
  readonly numbers: readonly number[]
  readonly preRelease: readonly string[]
}

function parse(text: string): Version | undefined {
  const found = text.length > 200 ? null : PATTERN.exec(text)
  if (found === null) return undefined
  return { numbers: [Number(found[1]), Number(found[2]), Number(found[3])], preRelease: found[4]?.split('.') ?? [] }
}

/** Returns true for a valid semantic version. */
export function isVersion(text: string): boolean {
  return parse(text) !== undefined
}

/** Returns the latest version: releases before pre-releases, then by precedence; invalid versions come last. Undefined for an empty list. */
export function latestVersion(versions: readonly string[]): string | undefined {
  return versions.toSorted(compareForLatest).at(-1)
}

/** Sorts versions oldest first for the lookup without a version: every pre-release sorts before every release. */
export function compareForLatest(a: string, b: string): number {
  const left = parse(a)
  const right = parse(b)
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined) || byText(a, b)
  const isRelease = Number(left.preRelease.length === 0) - Number(right.preRelease.length === 0)
  return isRelease || precedence(left, right) || byText(a, b)
}

function precedence(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0
    if (number !== other) return number - other
  }
  for (const [index, part] of a.preRelease.entries()) {
    const other = b.preRelease[index]
    if (other === undefined) return 1
    if (part !== other) return comparePart(part, other)
  }
  return a.preRelease.length - b.preRelease.length
}

function comparePart(a: string, b: string): number {
  const numeric = [/^\d+$/.test(a), /^\d+$/.test(b)] as const
  if (numeric[0] && numeric[1]) return Number(a) - Number(b)
  if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1
  return byText(a, b)
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Differences of two texts in the unified format of `diff -u`. */

/** Lines that a hunk shows before and after a change. */
const CONTEXT = 3
/** Changed lines up to which the shortest difference is searched. The time grows with their square. */
const MAX_EDITS = 500
const NO_NEWLINE = '\n\\ No newline at end of file'

interface Edit {
  readonly sign: ' ' | '-' | '+'
  readonly line: string
}

/** Names of both texts in the first two lines. */
interface DiffLabels {
  readonly before: string
  readonly after: string
}

/** Returns the difference of two texts as a patch; empty if they are equal. */
export function unifiedDiff(before: string, after: string, labels: DiffLabels): string {
  if (before === after) return ''
  const hunks = hunksOf(editsOf(linesOf(before), linesOf(after)))
  return [`--- ${labels.before}`, `+++ ${labels.after}`, ...hunks, ''].join('\n')
}

/** A last line without a line feed differs from the same line with one. */
function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}${NO_NEWLINE}`]
}

function editsOf(before: readonly string[], after: readonly string[]): Edit[] {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start += 1
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  const removed = before.slice(start, before.length - end)
  const added = after.slice(start, after.length - end)
  return [
    ...before.slice(0, start).map((line): Edit => ({ sign: ' ', line })),
    ...(shortestEdits(removed, added) ?? [
      ...removed.map((line): Edit => ({ sign: '-', line })),
      ...added.map((line): Edit => ({ sign: '+', line })),
    ]),
    ...before.slice(before.length - end).map((line): Edit => ({ sign: ' ', line })),
  ]
}

/**
 * Finds the shortest list of edits with the greedy algorithm of Myers (An O(ND) Difference Algorithm and Its Variations, 1986). Undefined if more than
 * `MAX_EDITS` lines differ.
 */
function shortestEdits(before: readonly string[], after: readonly string[]): Edit[] | undefined {
  // Diagonal -> the farthest line of `before` that is reached on it, for each number of edits.
  const trace: Map<number, number>[] = []
  let reached = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(MAX_EDITS, before.length + after.length); edits += 1) {
    trace.push(reached)
    const next = new Map<number, number>()
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = startOn(reached, diagonal, edits)
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1
      next.set(diagonal, x)
      if (x >= before.length && x - diagonal >= after.length) return backtrack(trace, before, after)
    }
    reached = next
  }
  return undefined
}

/** Returns true if the path to a diagonal is longer with an added line than with a removed one. */
function isAddition(reached: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (Math.abs(diagonal) === edits) return diagonal === -edits
  return (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1)
}

/** Returns the line of `before` at which a diagonal begins. */
function startOn(reached: ReadonlyMap<number, number>, diagonal: number, edits: number): number {
  return isAddition(reached, diagonal, edits) ? (reached.get(diagonal + 1) ?? 0) : (reached.get(diagonal - 1) ?? 0) + 1
}

function backtrack(trace: readonly ReadonlyMap<number, number>[], before: readonly string[], after: readonly string[]): Edit[] {
  const edits: Edit[] = []
  let [x, y] = [before.length, after.length]
  for (const [count, reached] of [...trace.entries()].toReversed()) {
    const diagonal = x - y
    const start = count === 0 ? 0 : startOn(reached, diagonal, count)
    while (x > start) {
      x -= 1
      y -= 1
      edits.push({ sign: ' ', line: before[x] ?? '' })
    }
    if (count === 0) break
    if (isAddition(reached, diagonal, count)) edits.push({ sign: '+', line: after[(y -= 1)] ?? '' })
    else edits.push({ sign: '-', line: before[(x -= 1)] ?? '' })
  }
  return edits.toReversed()
}

/** Groups edits with their context. */
function hunksOf(edits: readonly Edit[]): string[] {
  const shown = new Set<number>()
  for (const [index, { sign }] of edits.entries())
    if (sign !== ' ') for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) shown.add(at)
  const lines: string[] = []
  let [before, after] = [0, 0]
  for (let index = 0; index < edits.length;) {
    const first = index
    while (index < edits.length && shown.has(index)) index += 1
    const hunk = edits.slice(first, index)
    if (hunk.length > 0) lines.push(headOf(hunk, before, after))
    else index += 1
    // One by one, because a call takes a limited number of arguments.
    for (const { sign, line } of hunk) lines.push(`${sign}${line}`)
    for (const { sign } of edits.slice(first, index)) {
      if (sign !== '+') before += 1
      if (sign !== '-') after += 1
    }
  }
  return lines
}

function headOf(hunk: readonly Edit[], before: number, after: number): string {
  const range = (passed: number, sign: '-' | '+'): string => {
    const count = hunk.filter((edit) => edit.sign === ' ' || edit.sign === sign).length
    const first = count === 0 ? passed : passed + 1
    return count === 1 ? `${sign}${first}` : `${sign}${first},${count}`
  }
  return `@@ ${range(before, '-')} ${range(after, '+')} @@`
}

/**
 * Marks of a log: the parts that it folds, and the lines that report a problem. The log is read once from its start. The state is plain JSON, so that
 * reading can continue later.
 */
import { findFoldMarker, FOLD_WORDS } from './fold-markers.ts'
import { linesWith } from './lines-with.ts'
import { PROBLEM_WORDS, problemOf, type ProblemKind } from './problem-patterns.ts'

/** How a fold is written: `group` as in GitHub Actions, `section` as in GitLab, `travis` as in Travis CI, `heading` as in Buildkite. */
export const FOLD_STYLES = ['group', 'section', 'travis', 'heading'] as const
export type FoldStyle = (typeof FOLD_STYLES)[number]

/** A part of a log. Lines are counted from 0. */
export interface LogFold {
  readonly style: FoldStyle
  readonly name: string
  /** Line of its heading. */
  readonly from: number
  /** Its last line, which is its end marker if it has one. Absent while it is open. */
  readonly to?: number
  /** Number of folds around it. */
  readonly depth: number
  /** True if the log asks to show it folded. */
  readonly isFolded: boolean
}

export interface LogProblem {
  readonly line: number
  readonly kind: ProblemKind
  /** The visible text of the line, at most 300 characters. */
  readonly text: string
}

/** The state after a number of lines. */
export interface LogMarksState {
  readonly lines: number
  readonly folds: readonly LogFold[]
  readonly problems: readonly LogProblem[]
  /** The open folds, from the outside in. */
  readonly open: readonly OpenFold[]
  /** A line such as `--- name`, which is the start of a diff if the next one starts with `+++`. */
  readonly pending?: { readonly line: number; readonly name: string } | undefined
  /** Line of the `+++` of a diff. */
  readonly isCut: boolean
}

/** A fold without its end, and the key that its end will have. */
interface OpenFold {
  readonly index: number
  readonly key: string
}

export const NO_MARKS: LogMarksState = { lines: 0, folds: [], problems: [], open: [], isCut: false }

/** Changes whenever other marks are found in the same log. */
export const MARKS_VERSION = 2
/** Maximum folds and problems. The rest of a log is not marked. */
export const MAX_FOLDS = 10_000
export const MAX_PROBLEMS = 1_000
const MAX_TEXT = 300

/** Finds the marks of a log, block by block. */
export class LogMarker {
  readonly #folds: LogFold[]
  readonly #problems: LogProblem[]
  #open: readonly OpenFold[]
  #pending: LogMarksState['pending']
  #lines: number
  #isCut: boolean

  constructor(state: LogMarksState = NO_MARKS) {
    this.#folds = [...state.folds]
    this.#problems = [...state.problems]
    this.#open = state.open
    this.#pending = state.pending
    this.#lines = state.lines
    this.#isCut = state.isCut
  }

  /** Number of lines that are read. */
  get lines(): number {
    return this.#lines
  }

  /** Reads a block of whole lines: as written, and the visible text of the same lines. A block without a final line feed must be the last one. */
  take(raw: string, visible: string): void {
    this.#takeFolds(raw)
    this.#takeProblems(visible)
    for (let at = raw.indexOf('\n'); at >= 0; at = raw.indexOf('\n', at + 1)) this.#lines += 1
  }

  /** Counts the end of a line whose text is too long to be read. */
  skipLine(): void {
    this.#lines += 1
  }

  get state(): LogMarksState {
    return {
      lines: this.#lines,
      folds: [...this.#folds],
      problems: [...this.#problems],
      open: this.#open,
      ...(this.#pending !== undefined && { pending: this.#pending }),
      isCut: this.#isCut,
    }
  }

  #takeProblems(text: string): void {
    for (const { line, start, end } of linesWith(text, PROBLEM_WORDS)) {
      const found = problemOf(text.slice(start, end))
      if (found === undefined) continue
      if (this.#problems.length === MAX_PROBLEMS) {
        this.#isCut = true
        return
      }
      this.#problems.push({ line: this.#lines + line, kind: found, text: text.slice(start, Math.min(end, start + MAX_TEXT)) })
    }
  }

  #takeFolds(text: string): void {
    for (const { line, start, end } of linesWith(text, FOLD_WORDS)) {
      const at = this.#lines + line
      const marker = findFoldMarker(text.slice(start, Math.min(end, start + 1_000)))
      const isDiff = marker?.style === 'heading' && marker.sign === '+' && this.#pending?.line === at - 1
      if (isDiff) this.#pending = undefined
      else this.#settle()
      if (marker === undefined || isDiff) continue
      if (marker.style === 'heading' && marker.sign === '-') this.#pending = { line: at, name: marker.name }
      else if (marker.style === 'heading') this.#head(at, marker.name, marker.sign !== '+')
      else if (marker.isStart) this.#begin({ ...marker, from: at })
      else this.#end(marker, at)
    }
  }

  /** Takes a pending heading, which no line of a diff followed. */
  #settle(): void {
    if (this.#pending === undefined) return
    const { line, name } = this.#pending
    this.#pending = undefined
    this.#head(line, name, true)
  }

  /** Begins a heading. It ends the heading before it. */
  #head(line: number, name: string, isFolded: boolean): void {
    const before = this.#open.findIndex(({ index }) => this.#folds[index]?.style === 'heading')
    if (before >= 0) this.#close(before, line - 1)
    this.#begin({ style: 'heading', key: '', name, from: line, isFolded })
  }

  #begin({ key, style, name, from, isFolded }: Omit<LogFold, 'to' | 'depth'> & { key: string }): void {
    if (this.#folds.length === MAX_FOLDS) {
      this.#isCut = true
      return
    }
    this.#folds.push({ style, name, from, depth: this.#open.length, isFolded })
    this.#open = [...this.#open, { index: this.#folds.length - 1, key }]
  }

  /** Ends the innermost fold of the same style and key, and the folds in it. Ignores an end without a start. */
  #end({ style, key }: { readonly style: FoldStyle; readonly key: string }, line: number): void {
    const at = this.#open.findLastIndex((open) => open.key === key && this.#folds[open.index]?.style === style)
    if (at >= 0) this.#close(at, line)
  }

  #close(at: number, line: number): void {
    for (const { index } of this.#open.slice(at)) {
      const fold = this.#folds[index]
      if (fold !== undefined) this.#folds[index] = { ...fold, to: line }
    }
    this.#open = this.#open.slice(0, at)
  }
}

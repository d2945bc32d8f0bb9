/** The folds and problems that the server found in a stream. It reads a part of a long log with each call. */
import type { LogFold, LogMarks, LogProblem } from '@windlass/protocol'

/** Calls for one stream. A stream that grows all the time has no end. */
const MAX_CALLS = 100

/** A part of a log that can be closed. Lines are numbered from 0. */
export interface Fold {
  /** Line with the heading, which stays visible. */
  readonly from: number
  /** Last line. */
  readonly to: number
}

export class Marks {
  readonly #read: (signal: AbortSignal) => Promise<LogMarks>
  readonly #changed: () => void
  #problems: readonly LogProblem[] = []
  #lines: ReadonlySet<number> = new Set()
  #folds: ReadonlyMap<number, Fold> = new Map()
  /** The problem that was shown last. */
  current: LogProblem | undefined

  /** `changed` is called after marks arrive. */
  constructor(read: (signal: AbortSignal) => Promise<LogMarks>, changed: () => void) {
    this.#read = read
    this.#changed = changed
  }

  /** In the order of their lines. The result is the same object until more arrive. */
  get problems(): readonly LogProblem[] {
    return this.#problems
  }

  /** By the line of their heading, in order. The result is the same object until others arrive. */
  get folds(): ReadonlyMap<number, Fold> {
    return this.#folds
  }

  /** Returns whether a line is a problem, and whether it is the one that was shown last. */
  problemAt(line: number): 'problem' | 'current' | undefined {
    if (!this.#lines.has(line)) return undefined
    return this.current?.line === line ? 'current' : 'problem'
  }

  /** Reads the stream to its present end. A log whose marks cannot be read has none. */
  async load(signal: AbortSignal): Promise<void> {
    for (let calls = 1, before = -1; calls <= MAX_CALLS; calls += 1) {
      const marks = await this.#read(signal).catch(() => undefined)
      if (marks === undefined || signal.aborted) return
      this.#take(marks)
      if (marks.complete || marks.lines === before) return
      before = marks.lines
    }
  }

  #take({ problems, folds, lines }: LogMarks): void {
    if (problems.length !== this.#problems.length) {
      this.#problems = problems
      this.#lines = new Set(problems.map(({ line }) => line))
    }
    this.#folds = new Map(
      folds.map((fold) => toFold(fold, lines)).flatMap((fold) => (fold.to > fold.from ? [[fold.from, fold] as const] : [])),
    )
    this.#changed()
  }

  /** Makes the next problem after a line the current one, or the one before it. Continues at the other end of the log. */
  move(line: number, step: 1 | -1): LogProblem | undefined {
    const next =
      step > 0 ? this.#problems.find((problem) => problem.line > line) : this.#problems.findLast((problem) => problem.line < line)
    this.current = next ?? this.#problems.at(step > 0 ? 0 : -1)
    return this.current
  }
}

/** A fold without its end reaches to the last line that was read. */
function toFold({ from, to }: LogFold, lines: number): Fold {
  return { from, to: to ?? lines - 1 }
}

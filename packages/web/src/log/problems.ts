/** The problems that the server found in a stream. It reads a part of a long log with each call. */
import type { LogMarks, LogProblem } from '@windlass/protocol'

/** Calls for one stream. A stream that grows all the time has no end. */
const MAX_CALLS = 100

export class Problems {
  readonly #read: (signal: AbortSignal) => Promise<LogMarks>
  readonly #changed: () => void
  #all: readonly LogProblem[] = []
  #lines: ReadonlySet<number> = new Set()
  /** The problem that was shown last. */
  current: LogProblem | undefined

  /** `changed` is called after problems arrive. */
  constructor(read: (signal: AbortSignal) => Promise<LogMarks>, changed: () => void) {
    this.#read = read
    this.#changed = changed
  }

  /** In the order of their lines. The result is the same object until more arrive. */
  get all(): readonly LogProblem[] {
    return this.#all
  }

  /** Returns whether a line is a problem, and whether it is the one that was shown last. */
  at(line: number): 'problem' | 'current' | undefined {
    if (!this.#lines.has(line)) return undefined
    return this.current?.line === line ? 'current' : 'problem'
  }

  /** Reads the stream to its present end. A log whose marks cannot be read has none. */
  async load(signal: AbortSignal): Promise<void> {
    for (let calls = 1, before = -1; calls <= MAX_CALLS; calls += 1) {
      const marks = await this.#read(signal).catch(() => undefined)
      if (marks === undefined || signal.aborted) return
      if (marks.problems.length !== this.#all.length) {
        this.#all = marks.problems
        this.#lines = new Set(marks.problems.map(({ line }) => line))
        this.#changed()
      }
      if (marks.complete || marks.lines === before) return
      before = marks.lines
    }
  }

  /** Makes the next problem after a line the current one, or the one before it. Continues at the other end of the log. */
  move(line: number, step: 1 | -1): LogProblem | undefined {
    const next =
      step > 0 ? this.#all.find((problem) => problem.line > line) : this.#all.findLast((problem) => problem.line < line)
    this.current = next ?? this.#all.at(step > 0 ? 0 : -1)
    return this.current
  }
}

/**
 * Matches user-defined regular expressions in bounded time: JavaScript syntax without back-references and look-behind, and without
 * exponential backtracking. Every pair of instruction and text position is visited at most once per search and look-ahead, and a budget
 * bounds the total. The parser is in `parser.ts`; docs/development/adr explains the decision.
 */
import { compilePattern } from './parser.ts'
import type { Instruction, Program } from './parser.ts'
import { PatternError } from './pattern-error.ts'

export { PatternError } from './pattern-error.ts'

/** About 0.1 s of work. Branch names and commit messages need less than a thousandth of it. */
const MAX_STEPS = 1_000_000
/** Maximum number of pairs of instruction and text position; four bytes each. */
const MAX_PAIRS = 4_000_000

/**
 * Returns true if the pattern matches anywhere in `text`. Flags: i, m, s, u; g and y have no effect. Throws PatternError if the pattern is
 * invalid, uses back-references or look-behind, or is too expensive for this text.
 */
export function matchesPattern(source: string, flags: string, text: string): boolean {
  const search = new Search(compilePattern(source, flags), text)
  return search.anywhere()
}

/** Throws PatternError if the pattern cannot be used on any text. */
export function checkPattern(source: string, flags: string): void {
  compilePattern(source, flags)
}

class Search {
  private readonly program: Program
  private readonly text: string
  /** The last run that visited a pair. A look-ahead has its own instructions, so one table serves all runs. */
  private readonly triedBy: Uint32Array
  /** Results of look-aheads by instruction and position. */
  private readonly ahead = new Map<number, boolean>()
  private runs = 0
  private steps = 0

  constructor(program: Program, text: string) {
    const pairs = program.length * (text.length + 1)
    if (pairs > MAX_PAIRS) throw new PatternError('it is too expensive for this text')
    this.program = program
    this.text = text
    this.triedBy = new Uint32Array(pairs)
  }

  anywhere(): boolean {
    const run = this.nextRun()
    for (let at = 0; at <= this.text.length; at += 1) {
      if (this.reachesEnd(0, at, run)) return true
    }
    return false
  }

  private nextRun(): number {
    this.runs += 1
    return this.runs
  }

  /** Returns true if an accepting instruction can be reached. Pairs that `run` visited before lead nowhere or are in progress. */
  private reachesEnd(start: number, at: number, run: number): boolean {
    const width = this.text.length + 1
    const open: number[] = [start * width + at]
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      if (this.triedBy[pair] === run) continue
      this.triedBy[pair] = run
      this.spend()
      const place = Math.floor(pair / width)
      const instruction = this.program[place]
      if (instruction === undefined || instruction.op === 'accept') return true
      this.follow(instruction, place, pair - place * width, open)
    }
    return false
  }

  private follow(instruction: Exclude<Instruction, { op: 'accept' }>, place: number, at: number, open: number[]): void {
    const width = this.text.length + 1
    switch (instruction.op) {
      case 'char': {
        const char = this.charAt(at, instruction.unicode)
        if (char !== undefined && instruction.test(char)) open.push((place + 1) * width + at + char.length)
        return
      }
      case 'split':
        for (const target of instruction.to) open.push(target * width + at)
        return
      case 'assert':
        if (instruction.holds(this.text, at)) open.push((place + 1) * width + at)
        return
      case 'look': {
        if (this.looksAhead(place, at) !== instruction.negative) open.push(instruction.after * width + at)
        return
      }
    }
  }

  private looksAhead(place: number, at: number): boolean {
    const key = place * (this.text.length + 1) + at
    const known = this.ahead.get(key)
    if (known !== undefined) return known
    const found = this.reachesEnd(place + 1, at, this.nextRun())
    this.ahead.set(key, found)
    return found
  }

  private charAt(at: number, unicode: boolean): string | undefined {
    if (at >= this.text.length) return undefined
    return unicode ? String.fromCodePoint(this.text.codePointAt(at) ?? 0) : this.text[at]
  }

  private spend(): void {
    this.steps += 1
    if (this.steps > MAX_STEPS) throw new PatternError('it is too expensive for this text')
  }
}

/**
 * Finds user-defined regular expressions in the lines of long texts, such as logs, in time proportional to the text. The program of `parser.ts` becomes
 * states that are built when they are needed and kept, so that a character usually costs one look-up. Only lines that match are read a second time, for
 * the places of their matches. JavaScript syntax without back-references, look-behind and look-ahead.
 */
import { compilePattern } from './parser.ts'
import type { Instruction, Program } from './parser.ts'
import { PatternError } from './pattern-error.ts'

export interface LinePattern {
  /**
   * Returns the start of the first line of `text` that matches and starts at `from` or later; -1 if there is none. `from` is the start of a line. Lines end
   * with a line feed. Throws PatternError if the pattern is too expensive for this text.
   */
  nextLine(text: string, from: number): number
  /**
   * Returns start and end of the matches in one line, in order and without overlap. Each is as far left and then as long as possible. Empty matches are
   * left out, except the first one if there are no others. Throws PatternError if the pattern is too expensive for this line.
   */
  matchesIn(line: string): Match[]
}

export type Match = readonly [start: number, end: number]

/** Compiles a pattern. Flags: i, s, u; g, m and y have no effect on single lines. Throws PatternError if it is invalid or uses an unsupported feature. */
export function compileLinePattern(source: string, flags: string): LinePattern {
  return new Automaton(compilePattern(source, flags), flags.includes('u'))
}

const NEWLINE = 10
const ASCII = 128
/** Maximum number of states that are kept. Beyond it all are dropped and built again. */
const MAX_STATES = 1_024
/** Entries of the table besides the numbers of states. */
const UNKNOWN = -1
const FOUND = -2
/** Maximum work of one call, about 0.2 s. Reading a character with a known state is no work. */
const MAX_STEPS = 2_000_000

interface State {
  /** The instructions from which a match may continue, sorted. */
  readonly places: readonly number[]
  /** Stands for the character before, which assertions look at; empty at the start of a line. */
  readonly before: string
  /** The next state by character, for other characters than ASCII. */
  readonly others: Map<string, number>
  /** Whether the line matches if it ends here; undefined until it is needed. */
  matchesAtEnd: boolean | undefined
}

/** A way through the program that began at `start`. */
interface Thread {
  readonly place: number
  readonly start: number
}

class Automaton implements LinePattern {
  readonly #program: Program
  readonly #isUnicode: boolean
  /** The next state by state and ASCII character. */
  readonly #table = new Int32Array(MAX_STATES * ASCII)
  #states: State[] = []
  readonly #numbers = new Map<string, number>()
  /** Number of the state at the start of a line. */
  #first = UNKNOWN
  /** The visit in which each instruction was last reached. */
  readonly #reached: Uint32Array
  #visit = 0
  #steps = 0

  constructor(program: Program, isUnicode: boolean) {
    if (program.some(({ op }) => op === 'look')) throw new PatternError('look-ahead is not supported here')
    this.#program = program
    this.#isUnicode = isUnicode
    this.#reached = new Uint32Array(program.length)
  }

  nextLine(text: string, from: number): number {
    this.#steps = 0
    const table = this.#table
    let start = from
    let state = this.#firstState()
    for (let at = from; at <= text.length;) {
      const code = at < text.length ? text.charCodeAt(at) : NEWLINE
      if (code === NEWLINE) {
        if (start === text.length) return -1
        if (this.#matchesAtEnd(state)) return start
        at += 1
        start = at
        state = this.#firstState()
        continue
      }
      const known = code < ASCII ? (table[state * ASCII + code] ?? UNKNOWN) : UNKNOWN
      const next = known === UNKNOWN ? this.#nextState(state, this.#charAt(text, at)) : known
      if (next === FOUND) return start
      state = next
      at += code < 0xd800 || !this.#isUnicode ? 1 : this.#charAt(text, at).length
    }
    return -1
  }

  matchesIn(line: string): Match[] {
    this.#steps = 0
    const found: Match[] = []
    let empty: Match | undefined
    for (let from = 0; from <= line.length;) {
      const match = this.#firstMatch(line, from)
      if (match === undefined) break
      const [start, end] = match
      if (end > start) found.push(match)
      else empty ??= match
      from = end > start ? end : end + 1
    }
    return found.length === 0 && empty !== undefined ? [empty] : found
  }

  #firstState(): number {
    if (this.#first === UNKNOWN) this.#first = this.#numberOf([], '')
    return this.#first
  }

  #matchesAtEnd(number: number): boolean {
    const state = this.#stateOf(number)
    state.matchesAtEnd ??= this.#close(state.places, state.before, state.before.length) === undefined
    return state.matchesAtEnd
  }

  #nextState(number: number, char: string): number {
    const state = this.#stateOf(number)
    const code = char.charCodeAt(0)
    const known = state.others.get(char)
    if (known !== undefined) return known
    const tests = this.#close(state.places, state.before + char, state.before.length)
    const next = tests === undefined ? FOUND : this.#numberOf(this.#step(tests, char), standInFor(char))
    // Building a state may have dropped the others.
    if (this.#states[number] === state) {
      if (code < ASCII) this.#table[number * ASCII + code] = next
      else state.others.set(char, next)
    }
    return next
  }

  #stateOf(number: number): State {
    const state = this.#states[number]
    if (state === undefined) throw new Error(`there is no state ${number}`)
    return state
  }

  #numberOf(places: readonly number[], before: string): number {
    const key = `${before} ${places.join()}`
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    if (this.#states.length >= MAX_STATES) {
      this.#states = []
      this.#numbers.clear()
      this.#first = UNKNOWN
    }
    const number = this.#states.push({ places, before, others: new Map(), matchesAtEnd: undefined }) - 1
    this.#table.fill(UNKNOWN, number * ASCII, (number + 1) * ASCII)
    this.#numbers.set(key, number)
    return number
  }

  /** Returns the instructions that test the next character, reached from these places and from the start of the program; undefined if a match ends here. */
  #close(places: readonly number[], text: string, at: number): number[] | undefined {
    this.#visit += 1
    const tests: number[] = []
    const open = [...places, 0]
    for (let place = open.pop(); place !== undefined; place = open.pop())
      if (this.#reach(place, { text, at, open, tests })) return undefined
    return tests
  }

  /** Visits an instruction once. Returns true if it accepts. */
  #reach(place: number, { text, at, open, tests }: { text: string; at: number; open: number[]; tests: number[] }): boolean {
    if (this.#reached[place] === this.#visit) return false
    this.#reached[place] = this.#visit
    this.#spend()
    const instruction = this.#instructionAt(place)
    if (instruction.op === 'char') tests.push(place)
    else if (instruction.op === 'split') open.push(...instruction.to)
    else if (instruction.op === 'assert' && instruction.holds(text, at)) open.push(place + 1)
    return instruction.op === 'accept'
  }

  #step(tests: readonly number[], char: string): number[] {
    return tests
      .filter((place) => this.#takes(place, char))
      .map((place) => place + 1)
      .toSorted((a, b) => a - b)
  }

  #takes(place: number, char: string): boolean {
    this.#spend()
    const instruction = this.#instructionAt(place)
    return instruction.op === 'char' && instruction.test(char)
  }

  /** Finds the match that starts first, at `from` or later, and its last possible end. */
  #firstMatch(line: string, from: number): Match | undefined {
    let best: Match | undefined
    // In the order of their starts.
    let threads: Thread[] = [{ place: 0, start: from }]
    for (let at = from; threads.length > 0;) {
      this.#visit += 1
      const testing: Thread[] = []
      for (const { place, start } of threads) {
        if (best !== undefined && start > best[0]) break
        if (this.#extend(place, { text: line, at, start, testing })) best = [start, at]
      }
      const char = this.#charAt(line, at)
      if (char === '') return best
      at += char.length
      threads = testing.filter(({ place }) => this.#takes(place, char)).map(({ place, start }) => ({ place: place + 1, start }))
      if (best === undefined) threads.push({ place: 0, start: at })
    }
    return best
  }

  /** Adds the threads that test the next character. Returns true if the match may end here. */
  #extend(from: number, { text, at, start, testing }: { text: string; at: number; start: number; testing: Thread[] }): boolean {
    const open = [from]
    const tests: number[] = []
    let accepts = false
    for (let place = open.pop(); place !== undefined; place = open.pop())
      if (this.#reach(place, { text, at, open, tests })) accepts = true
    for (const place of tests) testing.push({ place, start })
    return accepts
  }

  #instructionAt(place: number): Instruction {
    return this.#program[place] ?? { op: 'accept' }
  }

  #charAt(text: string, at: number): string {
    const code = this.#isUnicode ? text.codePointAt(at) : undefined
    return code === undefined ? text.charAt(at) : String.fromCodePoint(code)
  }

  #spend(): void {
    this.#steps += 1
    if (this.#steps > MAX_STEPS) throw new PatternError('it is too expensive for this text')
  }
}

/** Returns a character that assertions treat like this one, so that few states differ only in it. */
function standInFor(char: string): string {
  if (/\w/.test(char)) return 'a'
  return /[\r\u2028\u2029]/.test(char) ? '\n' : ' '
}

/**
 * Compiles a JavaScript regular expression to a small program for `pattern.ts`. Single characters and character classes are tested by the
 * native engine, one character at a time, so that classes, case folding and Unicode properties behave exactly as in JavaScript.
 */
import { PatternError } from './pattern-error.ts'

export type Instruction =
  | { readonly op: 'char'; readonly test: (char: string) => boolean; readonly unicode: boolean }
  /** Continues at each of these instructions. */
  | { readonly op: 'split'; readonly to: readonly number[] }
  | { readonly op: 'assert'; readonly holds: (text: string, at: number) => boolean }
  /** Continues at `after` if the following instructions match here (or, if negative, do not match). */
  | { readonly op: 'look'; readonly negative: boolean; readonly after: number }
  | { readonly op: 'accept' }

export type Program = readonly Instruction[]

const MAX_PROGRAM = 20_000
const MAX_DEPTH = 100
const MAX_SOURCE_CHARS = 4_000

/** Compiles a pattern. Throws PatternError if it is invalid or uses an unsupported feature. */
export function compilePattern(source: string, flags: string): Program {
  if (source.length > MAX_SOURCE_CHARS) throw new PatternError(`it is longer than ${MAX_SOURCE_CHARS} characters`)
  checkSyntax(source, flags)
  const compiler = new Compiler(source, flags)
  return compiler.program()
}

/** Lets the native engine check the syntax; creating a RegExp runs nothing. */
function checkSyntax(source: string, flags: string): void {
  if (/[^gimsuy]/.test(flags)) throw new PatternError(`unknown flags "${flags}"`)
  try {
    void new RegExp(source, flags)
  } catch (error) {
    throw new PatternError(error instanceof Error ? error.message.replace(/^Invalid regular expression: /, '') : 'syntax error')
  }
}

type Tree =
  | { readonly kind: 'char'; readonly source: string }
  | { readonly kind: 'assert'; readonly holds: (text: string, at: number) => boolean }
  | { readonly kind: 'sequence'; readonly items: readonly Tree[] }
  | { readonly kind: 'choice'; readonly options: readonly Tree[] }
  | { readonly kind: 'repeat'; readonly item: Tree; readonly least: number; readonly most: number }
  | { readonly kind: 'look'; readonly item: Tree; readonly negative: boolean }

class Compiler {
  private readonly source: string
  private readonly flags: string
  private readonly multiline: boolean
  private readonly out: Instruction[] = []
  private readonly tests = new Map<string, (char: string) => boolean>()
  private at = 0
  private depth = 0

  constructor(source: string, flags: string) {
    this.source = source
    this.flags = flags.replace(/[^isu]/g, '')
    this.multiline = flags.includes('m')
  }

  program(): Program {
    const tree = this.choice()
    this.emit(tree)
    this.push({ op: 'accept' })
    return this.out
  }

  private choice(): Tree {
    this.depth += 1
    if (this.depth > MAX_DEPTH) throw new PatternError('it is nested too deeply')
    const options = [this.sequence()]
    while (this.take('|')) options.push(this.sequence())
    this.depth -= 1
    return options.length === 1 && options[0] !== undefined ? options[0] : { kind: 'choice', options }
  }

  private sequence(): Tree {
    const items: Tree[] = []
    while (this.at < this.source.length && this.source[this.at] !== '|' && this.source[this.at] !== ')')
      items.push(this.repeated(this.atom()))
    return { kind: 'sequence', items }
  }

  private repeated(item: Tree): Tree {
    const [text, least, most] = this.quantifier() ?? ['', 1, 1]
    if (text === '') return item
    this.at += text.length
    this.take('?')
    return { kind: 'repeat', item, least, most }
  }

  private quantifier(): [text: string, least: number, most: number] | undefined {
    const char = this.source[this.at]
    if (char === '*') return ['*', 0, Infinity]
    if (char === '+') return ['+', 1, Infinity]
    if (char === '?') return ['?', 0, 1]
    const counted = /^\{(\d+)(,(\d*))?\}/.exec(this.source.slice(this.at, this.at + 30))
    if (counted === null) return undefined
    const least = Number(counted[1])
    return [counted[0], least, counted[2] === undefined ? least : counted[3] === '' ? Infinity : Number(counted[3])]
  }

  private atom(): Tree {
    const char = this.source[this.at] ?? ''
    if (char === '(') return this.group()
    if (char === '[') return this.charTree(this.classEnd())
    if (char === '\\') return this.escape()
    if (char === '^')
      return this.assertion(1, this.multiline ? (text, at) => at === 0 || isLineEnd(text[at - 1]) : (_, at) => at === 0)
    if (char === '$') {
      return this.assertion(
        1,
        this.multiline ? (text, at) => at === text.length || isLineEnd(text[at]) : (text, at) => at === text.length,
      )
    }
    const length = this.flags.includes('u') ? String.fromCodePoint(this.source.codePointAt(this.at) ?? 0).length : 1
    return this.charTree(this.at + length)
  }

  private group(): Tree {
    const open = /^\((\?(?:[:=!]|<[=!]|<[^>]*>)|\?)?/.exec(this.source.slice(this.at, this.at + 200))?.[0] ?? '('
    if (open === '(?<=' || open === '(?<!') throw new PatternError('look-behind is not supported')
    if (open === '(?') throw new PatternError('inline flags are not supported')
    this.at += open.length
    const item = this.choice()
    this.take(')')
    return open === '(?=' || open === '(?!' ? { kind: 'look', item, negative: open === '(?!' } : item
  }

  private escape(): Tree {
    const rest = this.source.slice(this.at, this.at + 40)
    if (rest.startsWith('\\b')) return this.assertion(2, atWordEdge)
    if (rest.startsWith('\\B')) return this.assertion(2, (text, at) => !atWordEdge(text, at))
    if (/^\\(?:[1-9]|k<)/.test(rest)) throw new PatternError('back-references are not supported')
    const long = /^\\(?:x[0-9a-fA-F]{2}|u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|c[A-Za-z]|[pP]\{[^}]*\})/.exec(rest)?.[0]
    return this.charTree(this.at + (long?.length ?? 2))
  }

  private classEnd(): number {
    let at = this.at + 1
    while (at < this.source.length && this.source[at] !== ']') at += this.source[at] === '\\' ? 2 : 1
    return at + 1
  }

  private charTree(end: number): Tree {
    const source = this.source.slice(this.at, end)
    this.at = end
    return { kind: 'char', source }
  }

  private assertion(length: number, holds: (text: string, at: number) => boolean): Tree {
    this.at += length
    return { kind: 'assert', holds }
  }

  private take(char: string): boolean {
    if (this.source[this.at] !== char) return false
    this.at += 1
    return true
  }

  private push(instruction: Instruction): number {
    if (this.out.length >= MAX_PROGRAM) throw new PatternError('it is too large after its repetitions are expanded')
    return this.out.push(instruction) - 1
  }

  private emit(tree: Tree): void {
    switch (tree.kind) {
      case 'char':
        this.push({ op: 'char', test: this.testFor(tree.source), unicode: this.flags.includes('u') })
        return
      case 'assert':
        this.push({ op: 'assert', holds: tree.holds })
        return
      case 'sequence':
        for (const item of tree.items) this.emit(item)
        return
      case 'choice':
        return this.emitChoice(tree.options)
      case 'repeat':
        return this.emitRepeat(tree)
      case 'look': {
        const look = this.push({ op: 'look', negative: tree.negative, after: 0 })
        this.emit(tree.item)
        this.push({ op: 'accept' })
        this.out[look] = { op: 'look', negative: tree.negative, after: this.out.length }
        return
      }
    }
  }

  private emitChoice(options: readonly Tree[]): void {
    const split = this.push({ op: 'split', to: [] })
    const starts: number[] = []
    const ends: number[] = []
    for (const option of options) {
      starts.push(this.out.length)
      this.emit(option)
      ends.push(this.push({ op: 'split', to: [] }))
    }
    this.out[split] = { op: 'split', to: starts }
    for (const end of ends) this.out[end] = { op: 'split', to: [this.out.length] }
  }

  private emitRepeat({ item, least, most }: Tree & { kind: 'repeat' }): void {
    for (let count = 0; count < least; count += 1) this.emit(item)
    if (most === Infinity) {
      const loop = this.push({ op: 'split', to: [] })
      this.emit(item)
      this.push({ op: 'split', to: [loop] })
      this.out[loop] = { op: 'split', to: [loop + 1, this.out.length] }
      return
    }
    const exits: number[] = []
    for (let count = least; count < most; count += 1) {
      exits.push(this.push({ op: 'split', to: [] }))
      this.emit(item)
    }
    for (const exit of exits) this.out[exit] = { op: 'split', to: [exit + 1, this.out.length] }
  }

  private testFor(source: string): (char: string) => boolean {
    const known = this.tests.get(source)
    if (known !== undefined) return known
    const single = new RegExp(`^(?:${source})$`, this.flags)
    const test = (char: string): boolean => single.test(char)
    this.tests.set(source, test)
    return test
  }
}

function isLineEnd(char: string | undefined): boolean {
  return char === '\n' || char === '\r' || char === '\u2028' || char === '\u2029'
}

function atWordEdge(text: string, at: number): boolean {
  return /\w/.test(text[at - 1] ?? '') !== /\w/.test(text[at] ?? '')
}

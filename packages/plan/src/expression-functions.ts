/** The functions of the expression language (pipeline language 5.5), as one table that the reference page is made from too. */
import type { Call, Node } from './expression-parser.ts'
import { ExpressionError, typeName } from './expression-values.ts'
import type { Value } from './expression-values.ts'
import { matchesPattern, PatternError } from './pattern.ts'
import { nearMiss } from './suggest.ts'
import type { Scope } from './substitute.ts'
import { substitute } from './substitute.ts'

export interface ExpressionFunction {
  /** What each argument may be, in words. */
  readonly parameters: readonly string[]
  /** One sentence for the reference. */
  readonly about: string
}

interface Implementation extends ExpressionFunction {
  readonly run: (args: Arguments) => Value
}

const TABLE: Readonly<Record<string, Implementation>> = {
  String: { parameters: ['any'], about: 'The value as text.', run: (args) => String(args.plain(0)) },
  Number: {
    parameters: ['number or string'],
    about: 'The number that a text spells; an error for any other text.',
    run: toNumber,
  },
  Boolean: {
    parameters: ['any'],
    about: 'False for the empty text, 0 and false; true for all else.',
    run: (args) => Boolean(args.plain(0)),
  },
  round: { parameters: ['number'], about: 'The nearest integer.', run: (args) => Math.round(args.number(0)) },
  floor: { parameters: ['number'], about: 'The next lower integer.', run: (args) => Math.floor(args.number(0)) },
  upper: { parameters: ['string'], about: 'The text in upper case.', run: (args) => args.text(0).toUpperCase() },
  lower: { parameters: ['string'], about: 'The text in lower case.', run: (args) => args.text(0).toLowerCase() },
  trim: { parameters: ['string'], about: 'The text without white space at both ends.', run: (args) => args.text(0).trim() },
  trimLeft: { parameters: ['string'], about: 'The text without white space in front.', run: (args) => args.text(0).trimStart() },
  trimRight: { parameters: ['string'], about: 'The text without white space at its end.', run: (args) => args.text(0).trimEnd() },
  replace: {
    parameters: ['string', 'string', 'string'],
    about: 'The first text with every occurrence of the second replaced by the third.',
    run: replaceAll,
  },
  substring: {
    parameters: ['string', 'number', 'number'],
    about: 'The characters from the start up to, and not including, the end; both count from 0.',
    run: (args) => args.text(0).substring(args.number(1), args.number(2)),
  },
  length: { parameters: ['string'], about: 'The number of characters.', run: (args) => args.text(0).length },
  includes: {
    parameters: ['string', 'string'],
    about: 'True when the first text contains the second.',
    run: (args) => args.text(0).includes(args.text(1)),
  },
  indexOf: {
    parameters: ['string', 'string'],
    about: 'Where the second text starts in the first, counted from 0; -1 when it does not occur.',
    run: (args) => args.text(0).indexOf(args.text(1)),
  },
  match: {
    parameters: ['string', 'string', 'boolean'],
    about: 'True when the regular expression matches anywhere in the text; the third says whether case is ignored.',
    run: matchText,
  },
  Variable: {
    parameters: ['string'],
    about: 'The value of a variable or step; null when there is none.',
    run: (args) => args.lookup(args.text(0)),
  },
  Member: {
    parameters: ['string', 'string'],
    about: 'A member of a step; null when there is none.',
    run: (args) => args.lookup(`${args.text(0)}.${args.text(1)}`),
  },
}

/** All functions by name, for the reference page. */
export const EXPRESSION_FUNCTIONS: Readonly<Record<string, ExpressionFunction>> = TABLE

const MAX_TEXT_CHARS = 1_048_576

/** Throws ExpressionError when there is no such function, or it takes another number of arguments. */
export function checkCall(call: Call): void {
  const found = find(call.name)
  if (found === undefined) {
    const close = nearMiss(call.name, Object.keys(TABLE))
    throw new ExpressionError(
      `there is no function ${call.name}()${close === undefined ? '' : `. Did you mean ${close}()?`}`,
      call.at,
    )
  }
  const { length } = found.parameters
  if (call.args.length === length) return
  throw new ExpressionError(
    `${call.name}() takes ${length} ${length === 1 ? 'argument' : 'arguments'}, not ${call.args.length}`,
    call.at,
  )
}

/** Calls a function. `valueOf` evaluates an argument. Throws ExpressionError with the place of the call. */
export function callFunction(call: Call, valueOf: (node: Node) => Value, scope: Scope): Value {
  checkCall(call)
  const args = new Arguments(call, call.args.map(valueOf), scope)
  return find(call.name)?.run(args) ?? null
}

function find(name: string): Implementation | undefined {
  return Object.hasOwn(TABLE, name) ? TABLE[name] : undefined
}

/** The arguments of one call, each checked for its type when it is asked for. */
class Arguments {
  private readonly call: Call
  private readonly values: readonly Value[]
  private readonly scope: Scope

  constructor(call: Call, values: readonly Value[], scope: Scope) {
    this.call = call
    this.values = values
    this.scope = scope
  }

  plain(index: number): string | number | boolean {
    const value = this.values[index] ?? null
    if (value === null) throw this.wrong(index, 'a string, number or boolean')
    return value
  }

  text(index: number): string {
    const value = this.values[index]
    if (typeof value !== 'string') throw this.wrong(index, 'a string')
    return value
  }

  number(index: number): number {
    const value = this.values[index]
    if (typeof value !== 'number') throw this.wrong(index, 'a number')
    return value
  }

  flag(index: number): boolean {
    const value = this.values[index]
    if (typeof value !== 'boolean') throw this.wrong(index, 'a boolean')
    return value
  }

  lookup(name: string): Value {
    const value = this.scope.lookup(name)
    return value === undefined ? null : substitute(value, this.scope).text
  }

  error(message: string): ExpressionError {
    return new ExpressionError(`${this.call.name}(): ${message}`, this.call.at)
  }

  private wrong(index: number, wanted: string): ExpressionError {
    const at = this.call.args[index]?.at ?? this.call.at
    return new ExpressionError(
      `${this.call.name}() needs ${wanted} as argument ${index + 1}, not ${typeName(this.values[index] ?? null)}`,
      at,
    )
  }
}

function toNumber(args: Arguments): number {
  const value = args.plain(0)
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value)
  if (typeof value === 'boolean' || Number.isNaN(number)) throw args.error('this text is not a number')
  return number
}

function replaceAll(args: Arguments): string {
  const [text, find, by] = [args.text(0), args.text(1), args.text(2)]
  if (find === '') return text
  const parts = text.split(find)
  if (text.length + (parts.length - 1) * by.length > MAX_TEXT_CHARS) throw args.error('the result is too long')
  return parts.join(by)
}

function matchText(args: Arguments): boolean {
  const pattern = args.text(1)
  const source = pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/') ? pattern.slice(1, -1) : pattern
  try {
    return matchesPattern(source, args.flag(2) ? 'i' : '', args.text(0))
  } catch (error) {
    if (error instanceof PatternError) throw args.error(`the regular expression cannot be used: ${error.message}`)
    throw error
  }
}

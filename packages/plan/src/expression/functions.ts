/** The functions of the expression language. The reference page is generated from the same table. */
import { ExpressionError, typeName } from './values.ts'
import type { Value } from './values.ts'
import { matchesPattern, PatternError } from '../pattern/pattern.ts'
import { nearMiss } from '../suggest.ts'
import type { Scope } from './substitute.ts'
import { substitute } from './substitute.ts'
import type { Call, Node } from './nodes.ts'

export interface ExpressionFunction {
  /** Accepted types of each argument. */
  readonly parameters: readonly string[]
  /** Number of parameters at the end that may be absent. Default: none. */
  readonly optional?: number
  /** One sentence for the reference page. */
  readonly about: string
}

interface Implementation extends ExpressionFunction {
  readonly run: (args: Arguments) => Value
}

const TABLE: Readonly<Record<string, Implementation>> = {
  String: { parameters: ['any'], about: 'Converts the value to a string.', run: (args) => String(args.plain(0)) },
  Number: {
    parameters: ['number or string'],
    about: 'Parses a number; any other string is an error.',
    run: toNumber,
  },
  Boolean: {
    parameters: ['any'],
    about: 'Returns false for the empty string, 0 and false; true for all other values.',
    run: (args) => Boolean(args.plain(0)),
  },
  round: { parameters: ['number'], about: 'Rounds to the nearest integer.', run: (args) => Math.round(args.number(0)) },
  floor: { parameters: ['number'], about: 'Rounds down to an integer.', run: (args) => Math.floor(args.number(0)) },
  upper: { parameters: ['string'], about: 'Converts the string to upper case.', run: (args) => args.text(0).toUpperCase() },
  lower: { parameters: ['string'], about: 'Converts the string to lower case.', run: (args) => args.text(0).toLowerCase() },
  trim: {
    parameters: ['string'],
    about: 'Removes white space from both ends of the string.',
    run: (args) => args.text(0).trim(),
  },
  trimLeft: {
    parameters: ['string'],
    about: 'Removes white space from the start of the string.',
    run: (args) => args.text(0).trimStart(),
  },
  trimRight: {
    parameters: ['string'],
    about: 'Removes white space from the end of the string.',
    run: (args) => args.text(0).trimEnd(),
  },
  replace: {
    parameters: ['string', 'string', 'string'],
    about: 'Replaces every occurrence of the second string in the first by the third.',
    run: replaceAll,
  },
  substring: {
    parameters: ['string', 'number', 'number'],
    about: 'Returns the characters from the start index up to, but not including, the end index. Indexes start at 0.',
    run: (args) => args.text(0).substring(args.number(1), args.number(2)),
  },
  length: { parameters: ['string'], about: 'Returns the number of characters.', run: (args) => args.text(0).length },
  includes: {
    parameters: ['string', 'string'],
    about: 'Returns true if the first string contains the second.',
    run: (args) => args.text(0).includes(args.text(1)),
  },
  indexOf: {
    parameters: ['string', 'string'],
    about: 'Returns the 0-based index of the second string in the first, or -1 if it does not occur.',
    run: (args) => args.text(0).indexOf(args.text(1)),
  },
  match: {
    parameters: ['string', 'string', 'boolean'],
    optional: 1,
    about:
      'Returns true if the regular expression matches anywhere in the string. With true as the third argument, letter case is ignored.',
    run: matchText,
  },
  Variable: {
    parameters: ['string'],
    about: 'Returns the value of a variable or step, or null if it does not exist.',
    run: (args) => args.lookup(args.text(0)),
  },
  Member: {
    parameters: ['string', 'string'],
    about: 'Returns a member of a step, or null if it does not exist.',
    run: (args) => args.lookup(`${args.text(0)}.${args.text(1)}`),
  },
}

/** All functions by name, for the reference page. */
export const EXPRESSION_FUNCTIONS: Readonly<Record<string, ExpressionFunction>> = TABLE

const MAX_TEXT_CHARS = 1_048_576

/** Throws ExpressionError if the function does not exist or takes another number of arguments. */
export function checkCall(call: Call): void {
  const found = find(call.name)
  if (found === undefined) {
    const close = nearMiss(call.name, Object.keys(TABLE))
    throw new ExpressionError(
      `unknown function ${call.name}()${close === undefined ? '' : `. Did you mean ${close}()?`}`,
      call.at,
    )
  }
  const { length } = found.parameters
  const least = length - (found.optional ?? 0)
  if (call.args.length >= least && call.args.length <= length) return
  const wanted = least === length ? String(length) : `${least} or ${length}`
  throw new ExpressionError(
    `${call.name}() takes ${wanted} ${length === 1 ? 'argument' : 'arguments'}, not ${call.args.length}`,
    call.at,
  )
}

/** Calls a function. `valueOf` evaluates an argument. Throws ExpressionError with the position of the call. */
export function callFunction(call: Call, valueOf: (node: Node) => Value, scope: Scope): Value {
  checkCall(call)
  const args = new Arguments(call, call.args.map(valueOf), scope)
  return find(call.name)?.run(args) ?? null
}

function find(name: string): Implementation | undefined {
  return Object.hasOwn(TABLE, name) ? TABLE[name] : undefined
}

/** The arguments of one call. Each is type-checked when it is read. */
class Arguments {
  private readonly call: Call
  private readonly values: readonly Value[]
  private readonly scope: Scope

  constructor(call: Call, values: readonly Value[], scope: Scope) {
    this.call = call
    this.values = values
    this.scope = scope
  }

  has(index: number): boolean {
    return index < this.values.length
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
  if (typeof value === 'boolean' || Number.isNaN(number)) throw args.error('the string is not a number')
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
    return matchesPattern(source, args.has(2) && args.flag(2) ? 'i' : '', args.text(0))
  } catch (error) {
    if (error instanceof PatternError) throw args.error(`the regular expression cannot be used: ${error.message}`)
    throw error
  }
}

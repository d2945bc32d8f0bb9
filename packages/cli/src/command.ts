/**
 * A command as data. Help, parsing, shell completion and the reference page are generated from these tables.
 * `program.ts` turns a command line into values; `actions/` holds what the commands do.
 */
import { fault } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan/suggest'
import type { Printer } from './printer.ts'
import type { Settings } from './config.ts'

export interface OptionSpec<T> {
  /** In the syntax of commander: `-b, --branch <name>`. */
  readonly flags: string
  readonly summary: string
  readonly initial: T
  /** The closed list of values, for help and completion. */
  readonly choices?: readonly string[]
  /** Value of the flag when it is given without one. */
  readonly bare?: string
  /** Heading in the help. */
  readonly group?: string
  /** Other spellings of the flag, accepted but not shown. */
  readonly aliases?: readonly string[]
  /** Returns the value after one more occurrence on the command line. Throws `usage`. */
  read(text: string, before: T): T
}

export interface ArgumentSpec {
  /** In the syntax of commander: `<file>`, `[name]`, `<id...>`. */
  readonly name: string
  readonly summary: string
  /** The closed list of values, for completion. */
  readonly choices?: readonly string[]
}

export type Options = Readonly<Record<string, OptionSpec<unknown>>>
export type Values<O> = { readonly [K in keyof O]: O[K] extends OptionSpec<infer T> ? T : never }

export interface Invocation<V> {
  /** The arguments that are not options, in order. */
  readonly args: readonly string[]
  readonly options: V
  readonly out: Printer
  readonly settings: Settings
}

interface Definition<O extends Options> {
  readonly summary: string
  /** One paragraph for help and the reference page. */
  readonly about?: string
  readonly arguments?: readonly ArgumentSpec[]
  readonly options: O
  readonly examples?: readonly string[]
  /** Resolves to the exit code; undefined means 0. */
  run(invocation: Invocation<Values<O>>): Promise<number | void>
}

export interface Command {
  /** Full name: `auth login`. */
  readonly name: string
  readonly summary: string
  readonly about: string | undefined
  readonly arguments: readonly ArgumentSpec[]
  readonly options: Options
  readonly examples: readonly string[]
  run(invocation: Invocation<Readonly<Record<string, unknown>>>): Promise<number | void>
}

/** Defines an entry of the command table. The types of `options` determine the values that `run` receives. */
export function command<O extends Options>(name: string, definition: Definition<O>): Command {
  return {
    name,
    summary: definition.summary,
    about: definition.about,
    arguments: definition.arguments ?? [],
    options: definition.options,
    examples: definition.examples ?? [],
    // The parser fills every key with the result of its `read`, so the values have these types.
    run: (invocation) => definition.run({ ...invocation, options: invocation.options as Values<O> }),
  }
}

/** Defines a boolean option that is true if given. */
export function flag(flags: string, summary: string): OptionSpec<boolean> {
  return { flags, summary, initial: false, read: () => true }
}

const TRUE_VALUES = ['true', 'yes', 'on', '1']
const FALSE_VALUES = ['false', 'no', 'off', '0']

/** Defines a boolean option with an optional value: `--flag` and `--flag true` are true, `--flag=false` is false; undefined if not given. */
export function optionalBoolean(flags: string, summary: string): OptionSpec<boolean | undefined> {
  const read = (given: string): boolean => {
    if (TRUE_VALUES.includes(given.toLowerCase())) return true
    if (FALSE_VALUES.includes(given.toLowerCase())) return false
    throw fault('usage', { message: `${longName(flags)} takes true or false, not "${given}".` })
  }
  return { flags: `${flags} [bool]`, summary, initial: undefined, bare: 'true', read }
}

/** Defines an option with an optional value: the flag alone means `bare`. */
export function optionalText(flags: string, summary: string, bare: string): OptionSpec<string | undefined> {
  return { flags, summary, initial: undefined, bare, read: (given) => given }
}

/** Returns true if `optionalBoolean` accepts the value. */
export function isBooleanText(word: string | undefined): boolean {
  return word !== undefined && [...TRUE_VALUES, ...FALSE_VALUES].includes(word.toLowerCase())
}

/** Adds other spellings of the flag to an option. */
export function withAliases<T>(option: OptionSpec<T>, ...aliases: readonly string[]): OptionSpec<T> {
  return { ...option, aliases }
}

/** Puts the options under one heading of the help. */
export function grouped<O extends Options>(group: string, options: O): O {
  const each = Object.entries(options).map(([key, option]) => [key, { ...option, group }])
  // Each value only gained a field.
  return Object.fromEntries(each) as O
}

/** Defines an option with one value; the last one given wins. */
export function text(flags: string, summary: string): OptionSpec<string | undefined> {
  return { flags, summary, initial: undefined, read: (given) => given }
}

/** Defines an option that can be repeated. */
export function texts(flags: string, summary: string): OptionSpec<readonly string[]> {
  return { flags, summary, initial: [], read: (given, before) => [...before, given] }
}

/** Defines an option that takes a non-negative integer. */
export function integer(flags: string, summary: string): OptionSpec<number | undefined> {
  const read = (given: string): number => {
    if (!/^\d{1,15}$/.test(given)) throw fault('usage', { message: `${longName(flags)} takes a whole number, not "${given}".` })
    return Number(given)
  }
  return { flags, summary, initial: undefined, read }
}

/** Longer lists of values are cut in help, and left out of messages that name a similar value. */
export const LISTED_CHOICES = 20

/** Defines an option that takes one of `choices`. */
export function oneOf<const L extends readonly string[]>(
  flags: string,
  summary: string,
  choices: L,
): OptionSpec<L[number] | undefined> {
  const read = (given: string): L[number] => {
    const found = choices.find((choice) => choice === given)
    if (found !== undefined) return found
    const close = nearest(given, choices)
    const list = close !== undefined && choices.length > LISTED_CHOICES ? `${choices.length} values` : choices.join(', ')
    throw fault('usage', {
      message: `${longName(flags)} takes one of ${list}, not "${given}".`,
      ...(close !== undefined && { hint: `Did you mean ${close}?` }),
    })
  }
  return { flags, summary, initial: undefined, choices, read }
}

/** Returns the long name of the flags: `--branch` of `-b, --branch <name>`. */
export function longName(flags: string): string {
  return /--[A-Za-z-]+/.exec(flags)?.[0] ?? flags
}

/** Returns the key of the option's value: `noCache` of `--no-cache`. */
export function keyOf(flags: string): string {
  return longName(flags)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns true if the option takes a value. */
export function takesValue(flags: string): boolean {
  return /[<[]/.test(flags)
}

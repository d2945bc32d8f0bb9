/**
 * A command as data: help, parsing, shell completion and the reference page are all made from these tables.
 * Not here: how words of the command line become values (`program.ts`), and what commands do (`commands/`).
 */
import { fault } from '@windlass/kit/faults'
import type { Printer } from './printer.ts'
import type { Settings } from './config.ts'

export interface OptionSpec<T> {
  /** As commander reads it: `-b, --branch <name>`. */
  readonly flags: string
  readonly summary: string
  readonly initial: T
  /** The closed list of values, for help and completion. */
  readonly choices?: readonly string[]
  /** What the flag says when it stands without a value. */
  readonly bare?: string
  /** Heading under which help shows it. */
  readonly group?: string
  /** Further spellings of the flag, understood but not shown. */
  readonly aliases?: readonly string[]
  /** The value after one more occurrence on the command line. Throws `usage`. */
  read(text: string, before: T): T
}

export interface ArgumentSpec {
  /** As commander reads it: `<file>`, `[name]`, `<id...>`. */
  readonly name: string
  readonly summary: string
  /** The closed list of values, for completion. */
  readonly choices?: readonly string[]
}

export type Options = Readonly<Record<string, OptionSpec<unknown>>>
export type Values<O> = { readonly [K in keyof O]: O[K] extends OptionSpec<infer T> ? T : never }

export interface Invocation<V> {
  /** The words that are not options, in order. */
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
  /** Resolves to the exit code; 0 when nothing is returned. */
  run(invocation: Invocation<Values<O>>): Promise<number | void>
}

export interface Command {
  /** Words from the left: `auth login`. */
  readonly name: string
  readonly summary: string
  readonly about: string | undefined
  readonly arguments: readonly ArgumentSpec[]
  readonly options: Options
  readonly examples: readonly string[]
  run(invocation: Invocation<Readonly<Record<string, unknown>>>): Promise<number | void>
}

/** One line of the command table; `options` gives the types of the values that `run` receives. */
export function command<O extends Options>(name: string, definition: Definition<O>): Command {
  return {
    name,
    summary: definition.summary,
    about: definition.about,
    arguments: definition.arguments ?? [],
    options: definition.options,
    examples: definition.examples ?? [],
    // The parser fills every key of the table with what its `read` returned, so that the values have these types.
    run: (invocation) => definition.run({ ...invocation, options: invocation.options as Values<O> }),
  }
}

/** A switch: true when given. */
export function flag(flags: string, summary: string): OptionSpec<boolean> {
  return { flags, summary, initial: false, read: () => true }
}

const YES = ['true', 'yes', 'on', '1']
const NO = ['false', 'no', 'off', '0']

/** A choice that may be left open: `--flag` and `--flag true` say yes, `--flag=false` says no; undefined when not given. */
export function yesNo(flags: string, summary: string): OptionSpec<boolean | undefined> {
  const read = (given: string): boolean => {
    if (YES.includes(given.toLowerCase())) return true
    if (NO.includes(given.toLowerCase())) return false
    throw fault('usage', { message: `${longName(flags)} takes true or false, not '${given}'.` })
  }
  return { flags: `${flags} [bool]`, summary, initial: undefined, bare: 'true', read }
}

/** A value that may be left out: the flag alone says `bare`. */
export function maybeText(flags: string, summary: string, bare: string): OptionSpec<string | undefined> {
  return { flags, summary, initial: undefined, bare, read: (given) => given }
}

/** True for a word that `yesNo` understands. */
export function isYesNo(word: string | undefined): boolean {
  return word !== undefined && [...YES, ...NO].includes(word.toLowerCase())
}

/** The option with further spellings of its flag. */
export function also<T>(option: OptionSpec<T>, ...aliases: readonly string[]): OptionSpec<T> {
  return { ...option, aliases }
}

/** The options under one heading of help. */
export function grouped<O extends Options>(group: string, options: O): O {
  const each = Object.entries(options).map(([key, option]) => [key, { ...option, group }])
  // Each value is what it was, with one more field.
  return Object.fromEntries(each) as O
}

/** One value; the last one given wins. */
export function text(flags: string, summary: string): OptionSpec<string | undefined> {
  return { flags, summary, initial: undefined, read: (given) => given }
}

/** A value that may be given many times. */
export function texts(flags: string, summary: string): OptionSpec<readonly string[]> {
  return { flags, summary, initial: [], read: (given, before) => [...before, given] }
}

/** A whole number that is not negative. */
export function integer(flags: string, summary: string): OptionSpec<number | undefined> {
  const read = (given: string): number => {
    if (!/^\d{1,15}$/.test(given)) throw fault('usage', { message: `${longName(flags)} needs a whole number, not '${given}'.` })
    return Number(given)
  }
  return { flags, summary, initial: undefined, read }
}

/** One of a closed list. */
export function oneOf<const L extends readonly string[]>(
  flags: string,
  summary: string,
  choices: L,
): OptionSpec<L[number] | undefined> {
  const read = (given: string): L[number] => {
    const found = choices.find((choice) => choice === given)
    if (found === undefined)
      throw fault('usage', { message: `${longName(flags)} is one of ${choices.join(', ')}, not '${given}'.` })
    return found
  }
  return { flags, summary, initial: undefined, choices, read }
}

/** `--branch` of `-b, --branch <name>`. */
export function longName(flags: string): string {
  return /--[A-Za-z-]+/.exec(flags)?.[0] ?? flags
}

/** The key under which a value is found: `noCache` of `--no-cache`. */
export function keyOf(flags: string): string {
  return longName(flags)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** True when the option takes a value. */
export function takesValue(flags: string): boolean {
  return /[<[]/.test(flags)
}

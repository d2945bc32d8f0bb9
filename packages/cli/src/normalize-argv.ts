/**
 * Rewrites documented command lines to the form of the command table: synonyms of kinds, other spellings of flags, booleans with a value.
 * Pure. `program.ts` validates the result.
 */
import { isBooleanText, longName, takesValue, type Command, type OptionSpec } from './command.ts'
import { commands } from './table.ts'

/** Synonyms of kinds, with the name in the command table. */
const KINDS: Readonly<Record<string, string>> = {
  re: 'runtimes',
  runtime: 'runtimes',
  'runtime-environment': 'runtimes',
  'runtime-environments': 'runtimes',
  'sys-re': 'system-runtimes',
  'system-runtime': 'system-runtimes',
  'system-runtime-environment': 'system-runtimes',
  'system-runtime-environments': 'system-runtimes',
  agent: 'agents',
  cluster: 'clusters',
  're-base-images': 'runtime-images',
  'runtime-environments-base-images': 'runtime-images',
}

/** Other spellings of flags, accepted by every command. */
const EVERYWHERE: Readonly<Record<string, string>> = { '--filename': '--file' }

/** Returns the command line in the form of the command table. */
export function normalizeArgv(argv: readonly string[]): string[] {
  // `help run` and `run --help` are the same.
  if (argv[0] === 'help') return [...normalizeArgv(argv.slice(1)), '--help']
  const named = expandKind(argv)
  const command = commandOf(named)
  return command === undefined ? named : normalizeFlags(named, command)
}

/** Rewrites `get re x` to `get runtimes x`, but leaves commands such as `install runtime` and `create agent` as they are. */
function expandKind(argv: readonly string[]): string[] {
  const [verb = '', kind = '', ...rest] = argv
  const known = KINDS[kind]
  if (known === undefined || isCommand(`${verb} ${kind}`) || !isCommand(`${verb} ${known}`)) return [...argv]
  return [verb, known, ...rest]
}

function isCommand(name: string): boolean {
  return commands.some((command) => command.name === name)
}

/** Returns the commands that match the first arguments of a command line; all commands if none matches. */
export function commandsFor(argv: readonly string[]): readonly Command[] {
  const matched = commandOf(argv)
  if (matched === undefined) return commands
  return commands.filter(({ name }) => `${matched.name} `.startsWith(`${name} `) || `${name} `.startsWith(`${matched.name} `))
}

/** Returns the command named by the first arguments; the longest name wins. */
function commandOf(argv: readonly string[]): Command | undefined {
  for (let length = Math.min(argv.length, 4); length > 0; length -= 1) {
    const name = argv.slice(0, length).join(' ')
    const found = commands.find((command) => command.name === name)
    if (found !== undefined) return found
  }
  return undefined
}

function normalizeFlags(argv: readonly string[], { name, options }: Command): string[] {
  const depth = name.split(' ').length
  const spelled = argv.slice(0, depth)
  let rest = argv.slice(depth)
  while (rest.length > 0) {
    const [word = '', next, ...more] = rest
    if (word === '--') return [...spelled, ...rest]
    const [flag, value] = splitFlag(word)
    const option = Object.values(options).find((each) => matchesFlag(each, flag))
    if (option === undefined) {
      spelled.push(word)
      rest = rest.slice(1)
      continue
    }
    const takes = value === undefined && takesNext(option, next)
    spelled.push(...formatFlag(option, flag, takes ? next : value))
    rest = takes ? more : rest.slice(1)
  }
  return spelled
}

/** Splits `--flag=value`; the value may contain `=`. */
function splitFlag(word: string): readonly [string, string | undefined] {
  const at = word.indexOf('=')
  return !word.startsWith('-') || at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

function matchesFlag({ flags, aliases }: OptionSpec<unknown>, flag: string): boolean {
  return flags.split(/[ ,]+/).includes(flag) || aliases?.includes(flag) === true || EVERYWHERE[flag] === longName(flags)
}

function takesNext({ flags, bare }: OptionSpec<unknown>, next: string | undefined): boolean {
  if (next === undefined || !takesValue(flags)) return false
  if (bare === undefined) return true
  return flags.endsWith('[bool]') ? isBooleanText(next) : !next.startsWith('-')
}

function formatFlag({ flags, bare }: OptionSpec<unknown>, flag: string, given: string | undefined): string[] {
  const known = flags.split(/[ ,]+/).includes(flag) ? flag : longName(flags)
  const value = given ?? bare
  if (value === undefined) return [known]
  return known.startsWith('--') ? [`${known}=${value}`] : [known, value]
}

/**
 * Command lines as documentation has them, as the command table has them: synonyms of kinds, further spellings of flags, booleans with a
 * value of their own. Pure: words in, words out. Not here: whether the words make sense (`program.ts`).
 */
import { isYesNo, longName, takesValue, type Command, type OptionSpec } from './command.ts'
import { commands } from './table.ts'

/** What people call the kinds, by the word of the command table. */
const KINDS: Readonly<Record<string, string>> = {
  re: 'runtimes',
  runtime: 'runtimes',
  'runtime-environment': 'runtimes',
  'runtime-environments': 'runtimes',
  agent: 'agents',
  cluster: 'clusters',
  're-base-images': 'runtime-images',
  'runtime-environments-base-images': 'runtime-images',
}

/** Flags that every command spells in one more way. */
const EVERYWHERE: Readonly<Record<string, string>> = { '--filename': '--file' }

/** Makes the words of a command line those of the command table. */
export function normalizeWords(words: readonly string[]): string[] {
  const named = nameKinds(words)
  const command = commandOf(named)
  return command === undefined ? named : spellFlags(named, command)
}

/** `get re x` is `get runtimes x`; `install runtime` and `create agent` are commands as they stand. */
function nameKinds(words: readonly string[]): string[] {
  const [verb = '', kind = '', ...rest] = words
  const known = KINDS[kind]
  if (known === undefined || isCommand(`${verb} ${kind}`) || !isCommand(`${verb} ${known}`)) return [...words]
  return [verb, known, ...rest]
}

function isCommand(name: string): boolean {
  return commands.some((command) => command.name === name)
}

/** The commands that a command line can be about: all of them where its first words name none. */
export function commandsFor(words: readonly string[]): readonly Command[] {
  const meant = commandOf(words)
  if (meant === undefined) return commands
  return commands.filter(({ name }) => `${meant.name} `.startsWith(`${name} `) || `${name} `.startsWith(`${meant.name} `))
}

/** The command that the first words name; the longest name wins. */
function commandOf(words: readonly string[]): Command | undefined {
  for (let length = Math.min(words.length, 4); length > 0; length -= 1) {
    const name = words.slice(0, length).join(' ')
    const found = commands.find((command) => command.name === name)
    if (found !== undefined) return found
  }
  return undefined
}

function spellFlags(words: readonly string[], { name, options }: Command): string[] {
  const depth = name.split(' ').length
  const spelled = words.slice(0, depth)
  let rest = words.slice(depth)
  while (rest.length > 0) {
    const [word = '', next, ...more] = rest
    if (word === '--') return [...spelled, ...rest]
    const [flag, value] = splitFlag(word)
    const option = Object.values(options).find((each) => isSpelling(each, flag))
    if (option === undefined) {
      spelled.push(word)
      rest = rest.slice(1)
      continue
    }
    const takes = value === undefined && takesNext(option, next)
    spelled.push(...written(option, flag, takes ? next : value))
    rest = takes ? more : rest.slice(1)
  }
  return spelled
}

/** `--flag=value` in its two parts; the value may hold `=` itself. */
function splitFlag(word: string): readonly [string, string | undefined] {
  const at = word.indexOf('=')
  return !word.startsWith('-') || at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

function isSpelling({ flags, aliases }: OptionSpec<unknown>, flag: string): boolean {
  return flags.split(/[ ,]+/).includes(flag) || aliases?.includes(flag) === true || EVERYWHERE[flag] === longName(flags)
}

function takesNext({ flags, bare }: OptionSpec<unknown>, next: string | undefined): boolean {
  if (next === undefined || !takesValue(flags)) return false
  if (bare === undefined) return true
  return flags.endsWith('[bool]') ? isYesNo(next) : !next.startsWith('-')
}

function written({ flags, bare }: OptionSpec<unknown>, flag: string, given: string | undefined): string[] {
  const known = flags.split(/[ ,]+/).includes(flag) ? flag : longName(flags)
  const value = given ?? bare
  if (value === undefined) return [known]
  return known.startsWith('--') ? [`${known}=${value}`] : [known, value]
}

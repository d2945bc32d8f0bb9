/** Shell completion. The scripts call this program, so that they need no list of commands and options. */
import { longName, takesValue, type Command, type OptionSpec } from '../../command.ts'
import { commands } from '../../table.ts'

/** Returns the candidates for the last word. If there are none, the shell completes file names. */
export function complete(argv: readonly string[]): string[] {
  const typed = argv.at(-1) ?? ''
  return candidates(argv.slice(0, -1), typed).filter((candidate) => candidate.startsWith(typed))
}

function candidates(before: readonly string[], typed: string): string[] {
  const plain = before.filter((word) => !word.startsWith('-'))
  const found = longestMatch(plain)
  if (found === undefined) return typed.startsWith('-') ? ['--help'] : nextWords(plain)
  const open = optionAwaiting(found, before.at(-1))
  if (open !== undefined) return [...(open.choices ?? [])]
  if (typed.startsWith('-')) return [...Object.values(found.options).map(({ flags }) => longName(flags)), '--help']
  const given = before.filter((word, index) => !word.startsWith('-') && optionAwaiting(found, before[index - 1]) === undefined)
  const place = given.length - found.name.split(' ').length
  return [...new Set([...nextWords(given), ...(found.arguments[place]?.choices ?? [])])]
}

/** Returns the words that continue the name of a command. */
function nextWords(plain: readonly string[]): string[] {
  const longer = commands.map(({ name }) => name.split(' ')).filter((argv) => plain.every((word, index) => argv[index] === word))
  return [...new Set(longer.flatMap((argv) => argv[plain.length] ?? []))]
}

function longestMatch(plain: readonly string[]): Command | undefined {
  const matches = commands.filter(({ name }) => name.split(' ').every((word, index) => plain[index] === word))
  return matches.toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** Returns the option whose value follows the word, if any. */
function optionAwaiting(command: Command, word: string | undefined): OptionSpec<unknown> | undefined {
  if (word === undefined || !word.startsWith('-')) return undefined
  return Object.values(command.options).find(({ flags }) => takesValue(flags) && flags.split(/[ ,]+/).includes(word))
}

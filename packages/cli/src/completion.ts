/** Shell completion: the scripts ask this program, so that it knows every command and option without being told twice. */
import { fault } from '@windlass/kit/faults'
import { longName, takesValue, type Command, type OptionSpec } from './command.ts'
import { commands } from './table.ts'

/** The word by which a script asks: `windlass __complete WORD...`; the last word is the one being typed. */
export const COMPLETE = '__complete'

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_windlass() {
  local IFS=$'\\n'
  COMPREPLY=($(windlass ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ \${#COMPREPLY[@]} -gt 0 ]] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _windlass windlass
`,
  zsh: `#compdef windlass
_windlass() {
  local -a found
  found=("\${(@f)$(windlass ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n \${found[1]} ]]; then compadd -a found; else _files; fi
}
compdef _windlass windlass
`,
  fish: `function __windlass_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (windlass ${COMPLETE} $words[2..-1] 2>/dev/null)
  if test -n "$found"
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c windlass -f -a '(__windlass_complete)'
`,
}

/** The script of a shell. Throws `usage` for another one. */
export function completionScript(shell: string): string {
  const script = SCRIPTS[shell]
  if (script === undefined)
    throw fault('usage', { message: `There is no completion for '${shell}'.`, hint: 'The shells are bash, zsh and fish.' })
  return script
}

/** What may stand at the place of the last word. Nothing means: a file, or whatever the user likes. */
export function complete(words: readonly string[]): string[] {
  const typed = words.at(-1) ?? ''
  return candidates(words.slice(0, -1), typed).filter((candidate) => candidate.startsWith(typed))
}

function candidates(before: readonly string[], typed: string): string[] {
  const plain = before.filter((word) => !word.startsWith('-'))
  const found = longestMatch(plain)
  const next = nextWords(plain)
  if (found === undefined) return typed.startsWith('-') ? ['--help'] : next
  const open = optionAwaiting(found, before.at(-1))
  if (open !== undefined) return [...(open.choices ?? [])]
  if (typed.startsWith('-')) return [...Object.values(found.options).map(({ flags }) => longName(flags)), '--help']
  const place = plain.length - found.name.split(' ').length
  return [...next, ...(found.arguments[place]?.choices ?? [])]
}

/** The words that may follow these ones on the way to a command. */
function nextWords(plain: readonly string[]): string[] {
  const longer = commands
    .map(({ name }) => name.split(' '))
    .filter((words) => plain.every((word, index) => words[index] === word))
  return [...new Set(longer.flatMap((words) => words[plain.length] ?? []))]
}

function longestMatch(plain: readonly string[]): Command | undefined {
  const matches = commands.filter(({ name }) => name.split(' ').every((word, index) => plain[index] === word))
  return matches.toSorted((a, b) => b.name.length - a.name.length)[0]
}

/** The option that the word before takes a value for. */
function optionAwaiting(command: Command, word: string | undefined): OptionSpec<unknown> | undefined {
  if (word === undefined || !word.startsWith('-')) return undefined
  return Object.values(command.options).find(({ flags }) => takesValue(flags) && flags.split(/[ ,]+/).includes(word))
}

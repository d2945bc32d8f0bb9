/** Shell completion scripts. They call this program, so that the commands are defined in one place. */
import { fault } from '@windlass/kit/faults'

/** The hidden command that scripts call: `windlass __complete WORD...`. The last word is the one being typed. */
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

/** Returns the completion script of a shell. Throws `usage` for an unknown one. */
export function completionScript(shell: string): string {
  const script = SCRIPTS[shell]
  if (script === undefined)
    throw fault('usage', { message: `Completion for "${shell}" is not supported.`, hint: 'Use bash, zsh or fish.' })
  return script
}

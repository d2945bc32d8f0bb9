/** The script of one stage of a job: its settings, its variables, and what it does. */
import { filePathOf, type Variables } from './variables.ts'
import { isShellName, ShellScript } from './shell-script.ts'

export interface StageOptions {
  readonly variables: Variables
  /** Folder beside the sources, for files of variables. It belongs to the runner. */
  readonly temporaryFolder: string
  /** True shows each command of the shell, for `CI_DEBUG_TRACE`. */
  readonly isTraced: boolean
}

/** Name of the file to which a stage writes variables for later stages: `$GITLAB_ENV`. */
const ENVIRONMENT_FILE = 'gitlab_runner_env'

/** Returns the script of a stage. It ends with the first command that fails, with the exit code of that. */
export function stageScript(options: StageOptions, body: (script: ShellScript) => void): string {
  const script = new ShellScript()
  // A shell without pipefail ends with an error when it is asked for it.
  script.raw('set -o errexit').raw('if (set -o pipefail) 2>/dev/null; then set -o pipefail; fi').raw('set +o noclobber')
  exportVariables(script, options)
  if (options.isTraced) script.raw('set -o xtrace')
  body(script)
  return script.text()
}

function exportVariables(script: ShellScript, { variables, temporaryFolder }: StageOptions): void {
  for (const variable of variables.list)
    if (isShellName(variable.key))
      script.set(variable.key, variable.isFile ? filePathOf(variable, temporaryFolder) : variable.value)
  const file = `${temporaryFolder}/${ENVIRONMENT_FILE}`
  script.set('GITLAB_ENV', file)
  script.when(`[ -f ${JSON.stringify(file)} ]`, (then) => {
    // Only assignments: a line of another form would end the stage.
    then
      .raw('while IFS= read -r _line || [ -n "$_line" ]; do')
      .raw('  case "$_line" in [A-Za-z_]*=*) export "$_line" ;; esac')
      .raw(`done <"$GITLAB_ENV"`)
      .raw('unset _line')
  })
}

/** Writes the files of file variables. It runs first, in the helper. */
export function writeVariableFiles(script: ShellScript, { variables, temporaryFolder }: StageOptions): void {
  script.run('mkdir', '-p', temporaryFolder)
  for (const variable of variables.list)
    if (variable.isFile) {
      const path = filePathOf(variable, temporaryFolder)
      script.run('rm', '-rf', path)
      script.raw(`printf '%s' ${quotedValue(variable.value)} >${JSON.stringify(path)}`)
    }
}

function quotedValue(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`
}

/** Removes the files of variables and what stages have left for later ones. It runs last, in the helper. */
export function removeVariableFiles(script: ShellScript, { temporaryFolder }: StageOptions): void {
  script.run('rm', '-rf', temporaryFolder)
}

/** Names that a job must not use for its folders, because the texts of scripts contain them in double quotes. */
export function isPlainPath(path: string): boolean {
  return /^\/[^\n"$`\\]*$/.test(path)
}

/** Adds the commands of a user. Each is shown before it runs; of several lines only the first. */
export function addCommands(
  script: ShellScript,
  commands: readonly string[],
  { checksEach = false }: { readonly checksEach?: boolean } = {},
): void {
  for (const command of commands) {
    const [first = '', ...rest] = command.trim().split('\n')
    script.say(rest.length === 0 ? `$ ${first}` : `$ ${first} # collapsed multi-line command`, 'green')
    script.raw(command)
    // `errexit` does not hold in every part of a command, such as in the condition of another one.
    if (checksEach) script.raw('_exit_code=$?; if [ "$_exit_code" -ne 0 ]; then exit "$_exit_code"; fi')
  }
}

/** Builds a commander program from the command table, which parses a command line into typed values. */
import { fault, isFault } from '@windlass/kit/faults'
import { Command as Program, CommanderError, Option } from 'commander'
import { complete } from './commands/completion/complete.ts'
import { keyOf, LISTED_CHOICES, longName, takesValue, type Command, type OptionSpec } from './command.ts'
import { EXIT, exitCodeOf } from './exit-codes.ts'
import { commandsFor, normalizeArgv } from './normalize-argv.ts'
import { formatError } from './format/problems.ts'
import { forgetInputs, sourcesRead } from './input/input-files.ts'
import type { Printer } from './printer.ts'
import type { Settings } from './config.ts'
import { groups, headingOf } from './table.ts'
import { COMPLETE } from './commands/completion/scripts.ts'

interface Context {
  readonly out: Printer
  readonly settings: Settings
}

/** Runs one command line (without the program name) and prints its errors. Resolves to the exit code. */
export async function runCommandLine(argv: readonly string[], context: Context): Promise<number> {
  if (argv[0] === COMPLETE) {
    for (const candidate of complete(argv.slice(1))) context.out.line(candidate)
    return EXIT.success
  }
  forgetInputs()
  let exitCode: number = EXIT.success
  const given = normalizeArgv(argv)
  const program = buildProgram(given, context, async (command, invocation) => {
    exitCode = (await command.run(invocation)) ?? EXIT.success
  })
  try {
    await program.parseAsync(given, { from: 'user' })
    return exitCode
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.success : EXIT.usage
    return reportError(error, context)
  }
}

export interface ParsedLine {
  /** Name of the command in the table. */
  readonly name: string
  readonly args: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
}

/** Parses a command line without running it. Throws the same errors as running it. */
export async function parseCommandLine(argv: readonly string[], context: Context): Promise<ParsedLine> {
  let parsed: ParsedLine | undefined
  const given = normalizeArgv(argv)
  const program = buildProgram(given, context, async ({ name }, { args, options }) => {
    parsed = { name, args, options }
  })
  await program.parseAsync(given, { from: 'user' })
  if (parsed === undefined) throw fault('usage', { message: 'The command line does not name a command.' })
  return parsed
}

type Handler = (command: Command, invocation: Parameters<Command['run']>[0]) => Promise<void>

/** Prints an error that ends the process. Returns the exit code. */
export function reportError(error: unknown, { out, settings }: Context): number {
  const how = { style: out.stderr.style, debug: settings.debug, sources: sourcesRead() }
  for (const line of formatError(namingVariable(error, settings), how)) out.note(line)
  return exitCodeOf(error)
}

/** A refused key of the environment is not the key of `auth login`, so the message names the variable. */
function namingVariable(error: unknown, { apiKey, url }: Settings): unknown {
  if (!isFault(error, 'unauthenticated') || apiKey === undefined || error.hint !== fault('unauthenticated').hint) return error
  const message = `The server${url === undefined ? '' : ` at ${url}`} refused the key of the environment (WINDLASS_API_KEY).`
  return fault(
    'unauthenticated',
    { message, hint: 'Correct the variable, or unset it to use the key of `windlass auth login`.' },
    error,
  )
}

/** Builds only the commands that match `argv`: parsing all options of all commands is slow. */
function buildProgram(argv: readonly string[], context: Context, act: Handler): Program {
  const program = new Program('windlass')
  prepare(program, context)
  program.description('Run builds in your own clusters and on this machine.')
  program.addHelpText('after', START_HERE)
  const parents = new Map<string, Program>([['', program]])
  for (const command of commandsFor(argv)) {
    const path = command.name.split(' ')
    const leaf = path.pop() ?? ''
    const parent = path.length === 0 ? program : groupOf(parents, path.join(' '), context)
    parents.set(command.name, addCommand(parent, leaf, { command, context, act }))
  }
  return program
}

const START_HERE = `
Start here:
  windlass run --local -f pipeline.yml    run a pipeline on the local Docker daemon, without a server
  windlass up                             start a server with a local runtime environment
  windlass validate pipeline.yml          validate a document
  windlass runner init                    install a Runner into a cluster`

function prepare(program: Program, { out }: Context): void {
  program.exitOverride()
  // An option after a subcommand belongs to the subcommand: `create agent --runtime` is not the `--runtime` of `create`.
  program.enablePositionalOptions()
  program.showSuggestionAfterError(true)
  program.helpOption('-h, --help', 'Show help')
  program.helpCommand(false)
  program.configureHelp({ sortSubcommands: false, showGlobalOptions: false })
  program.configureOutput({
    writeOut: (text) => out.stdout.write(text),
    writeErr: (text) => out.stderr.write(text),
    getOutHelpWidth: () => Math.min(out.stdout.columns, 110),
    outputError: (text) => {
      const [what = '', ...more] = text
        .replace(/^error: /, '')
        .trimEnd()
        .split('\n')
      out.note(`${out.stderr.style.red('error:')} ${what}`)
      out.note(`${out.stderr.style.dim('hint:')} ${more.join(' ').replace(/^\(|\)$/g, '') || nextStep(what, program)}`)
    },
  })
}

/** Returns the hint for an error without a suggestion. A group has few enough commands to name them all. */
function nextStep(what: string, { parent, commands: known }: Program): string {
  if (parent === null || known.length === 0 || !/^(?:unknown command|too many arguments)/.test(what)) return 'See --help.'
  return `Use one of ${known.map((one) => one.name()).join(', ')}.`
}

function groupOf(parents: Map<string, Program>, name: string, context: Context): Program {
  const known = parents.get(name)
  if (known !== undefined) return known
  const path = name.split(' ')
  const group = new Program(path.pop() ?? '')
  prepare(group, context)
  group.description(groups[name] ?? '')
  if (path.length === 0) group.helpGroup(`${headingOf(name)}:`)
  groupOf(parents, path.join(' '), context).addCommand(group)
  parents.set(name, group)
  return group
}

interface Leaf {
  readonly command: Command
  readonly context: Context
  readonly act: Handler
}

function addCommand(parent: Program, name: string, { command, context, act }: Leaf): Program {
  const leaf = new Program(name)
  prepare(leaf, context)
  leaf.summary(command.summary)
  if (parent.parent === null) leaf.helpGroup(`${headingOf(name)}:`)
  leaf.description(command.about === undefined ? `${command.summary}.` : `${command.summary}.\n\n${command.about}`)
  for (const argument of command.arguments) leaf.argument(argument.name, argument.summary)
  for (const option of Object.values(command.options)) leaf.addOption(toOption(option))
  if (command.examples.length > 0)
    leaf.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}`).join('\n')}`)
  leaf.action(async () => {
    const given: Readonly<Record<string, unknown>> = leaf.opts()
    const options = Object.fromEntries(
      Object.entries(command.options).map(([key, option]) => [key, valueOf(option, given, context.settings)]),
    )
    await act(command, { ...context, args: leaf.args, options })
  })
  parent.addCommand(leaf)
  return leaf
}

/** Returns the value of an option. commander stores `--no-cache` as `cache: false`; an option not given may come from `CF_ARG_<OPTION>`. */
function valueOf(spec: OptionSpec<unknown>, given: Readonly<Record<string, unknown>>, settings: Settings): unknown {
  const key = keyOf(spec.flags)
  const inherited = (): unknown => fromEnvironment(spec, settings) ?? spec.initial
  if (!longName(spec.flags).startsWith('--no-')) return given[key] ?? inherited()
  const positive = given[key.charAt(2).toLowerCase() + key.slice(3)]
  // `--no-proxy HOSTS` takes a value; commander reports true if it was not given.
  if (takesValue(spec.flags)) return positive === true || positive === undefined ? inherited() : positive
  return positive === false
}

/** Reads an option from the variable that the Codefresh CLI uses for it: `CF_ARG_KUBE_NAMESPACE` for `--kube-namespace`. */
function fromEnvironment(spec: OptionSpec<unknown>, { environment }: Settings): unknown {
  if (!takesValue(spec.flags)) return undefined
  const name = `CF_ARG_${longName(spec.flags)
    .slice(2)
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toUpperCase()}`
  const text = environment[name]
  return text === undefined || text === '' ? undefined : spec.read(text, spec.initial)
}

function toOption(spec: OptionSpec<unknown>): Option {
  const option = newOption(spec)
  if (!takesValue(spec.flags)) return option
  return option.argParser((given: string, before: unknown) => spec.read(given, before ?? spec.initial))
}

/** Values that the help shows of a longer list. */
const SHOWN_OF_MORE = 4

function showChoices(choices: readonly string[] | undefined): string {
  if (choices === undefined) return ''
  if (choices.length <= LISTED_CHOICES) return ` (${choices.join('|')})`
  return ` (${choices.slice(0, SHOWN_OF_MORE).join('|')}|… ${choices.length} in the reference)`
}

function newOption(spec: OptionSpec<unknown>): Option {
  const option = new Option(spec.flags, `${spec.summary}${showChoices(spec.choices)}`)
  return spec.group === undefined ? option : option.helpGroup(`${spec.group}:`)
}

/** The reference page of the commands, made from the command table. */
import { longName, type ArgumentSpec, type Command, type OptionSpec } from './command.ts'
import { EXIT } from './exit-codes.ts'
import { commands } from './table.ts'

const EXIT_TEXT: readonly (readonly [number, string])[] = [
  [EXIT.success, 'success'],
  [EXIT.failed, 'the build failed, or the document is invalid'],
  [EXIT.terminated, 'the build was terminated, or the command line is wrong'],
  [EXIT.notFound, 'there is no such thing'],
  [EXIT.notAllowed, 'not allowed'],
  [EXIT.unreachable, 'the server cannot be reached'],
  [EXIT.interrupted, 'interrupted by Ctrl-C'],
]

/** Markdown of `docs/reference/cli.md`. */
export function describeCommands(): string {
  const lines = [
    '# Commands',
    '',
    'Made from the command table (`npm run gen`); `windlass COMMAND --help` says the same.',
    '',
    '| exit code | meaning |',
    '|---|---|',
    ...EXIT_TEXT.map(([code, text]) => `| ${code} | ${text} |`),
    '',
    'Settings from the environment: `WINDLASS_URL` and `WINDLASS_API_KEY` stand in for the current context, `WINDLASS_CONFIG` names',
    'another file of contexts, `WINDLASS_CA_FILE` adds certificate authorities, `WINDLASS_DEBUG` shows stacks, `NO_COLOR` takes colours away.',
    ...commands.flatMap((command) => section(command)),
  ]
  return `${lines.join('\n')}\n`
}

function section(command: Command): string[] {
  const lines = ['', `## windlass ${command.name}`, '', `${command.summary}.`]
  if (command.about !== undefined) lines.push('', command.about)
  lines.push('', '```', usageOf(command), '```')
  const rows = [...command.arguments.map(argumentRow), ...Object.values(command.options).map(optionRow)]
  if (rows.length > 0) lines.push('', '| | |', '|---|---|', ...rows)
  if (command.examples.length > 0) lines.push('', '```sh', ...command.examples, '```')
  return lines
}

/** `windlass logs <build> [options]`. */
export function usageOf(command: Command): string {
  const words = [`windlass ${command.name}`, ...command.arguments.map(({ name }) => name)]
  if (Object.keys(command.options).length > 0) words.push('[options]')
  return words.join(' ')
}

function argumentRow({ name, summary, choices }: ArgumentSpec): string {
  return row(name, summary, choices)
}

function optionRow({ flags, summary, choices }: OptionSpec<unknown>): string {
  return row(flags, summary, choices)
}

function row(name: string, summary: string, choices: readonly string[] | undefined): string {
  const list = choices === undefined ? '' : ` (${choices.map((choice) => `\`${choice}\``).join(', ')})`
  return `| \`${name}\` | ${(summary + list).replaceAll('|', '\\|')} |`
}

/** Every option of every command by its long name; for tests that compare help, completion and this page. */
export function optionNames(): string[] {
  return commands.flatMap(({ name, options }) => Object.values(options).map(({ flags }) => `${name} ${longName(flags)}`))
}

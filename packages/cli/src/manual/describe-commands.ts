/** The reference page of the commands, generated from the command table. */
import type { ArgumentSpec, Command, OptionSpec } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { commands, headingOf } from '../table.ts'

/** Meanings of the exit codes. */
export const EXIT_TEXT: readonly (readonly [number, string])[] = [
  [EXIT.success, 'success'],
  [EXIT.failed, 'the build failed, the document is invalid, the versions differ, or something was left or skipped'],
  [EXIT.terminated, 'the build was terminated, or the command line is wrong'],
  [EXIT.notFound, 'the resource or file does not exist'],
  [EXIT.notAllowed, 'not allowed'],
  [EXIT.unreachable, 'the server cannot be reached, or a proxy answered instead of it'],
  [EXIT.interrupted, 'interrupted by Ctrl-C'],
]

/** Environment variables of the command line, and their meanings. */
export const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['WINDLASS_URL', 'URL of the server, instead of that of the current context'],
  ['WINDLASS_API_KEY', 'API key, instead of that of the current context'],
  ['WINDLASS_CONFIG', 'configuration file (default: ~/.config/windlass/config.yaml)'],
  ['WINDLASS_CA_FILE', 'PEM file of additional certificate authorities'],
  ['WINDLASS_BOOTSTRAP_CODE', 'bootstrap code of a new server, for `auth login --first-admin`'],
  ['WINDLASS_POSTGRES', 'PostgreSQL database of `up`'],
  ['WINDLASS_HELM', 'Helm executable of the Runner commands (default: helm on the PATH)'],
  ['WINDLASS_CHART', 'chart `windlass-runtime` of the Runner commands'],
  ['WINDLASS_GITOPS_CHART', 'chart `windlass-gitops-runtime` of `windlass gitops`'],
  ['WINDLASS_DOCS_URL', 'base URL of the documentation that `validate` links to'],
  ['WINDLASS_DEBUG', 'shows stack traces'],
  ['NO_COLOR', 'turns colors off'],
]

/** Returns the Markdown of `docs/reference/cli.md`. */
export function describeCommands(): string {
  const lines = [
    '# Commands',
    '',
    'Generated from the command table (`npm run gen`). `windlass COMMAND --help` prints the same text.',
    '',
    '| exit code | meaning |',
    '|---|---|',
    ...EXIT_TEXT.map(([code, text]) => `| ${code} | ${text} |`),
    '',
    '| environment variable | meaning |',
    '|---|---|',
    ...ENVIRONMENT.map(([name, text]) => `| \`${name}\` | ${text} |`),
    '',
    ...contents(),
    ...commands.flatMap((command) => section(command)),
  ]
  return `${lines.join('\n')}\n`
}

/** Returns a table of links to the commands, by the headings of the help. */
function contents(): string[] {
  const groups = Map.groupBy(commands, ({ name }) => headingOf(name.split(' ')[0] ?? name))
  const link = ({ name }: Command): string => `[${name}](#windlass-${name.replaceAll(' ', '-')})`
  return ['| | commands |', '|---|---|', ...[...groups].map(([heading, of]) => `| ${heading} | ${of.map(link).join(' · ')} |`)]
}

function section(command: Command): string[] {
  const lines = ['', `## windlass ${command.name}`, '', `${command.summary}.`]
  if (command.about !== undefined) lines.push('', escapeTags(command.about))
  lines.push('', '```', usageOf(command), '```')
  const rows = [...command.arguments.map(argumentRow), ...Object.values(command.options).map(optionRow)]
  if (rows.length > 0) lines.push('', '| | |', '|---|---|', ...rows)
  if (command.examples.length > 0) lines.push('', '```sh', ...command.examples, '```')
  return lines
}

/** Returns the usage line: `windlass logs <build> [options]`. */
export function usageOf(command: Command): string {
  const parts = [`windlass ${command.name}`, ...command.arguments.map(({ name }) => name)]
  if (Object.keys(command.options).length > 0) parts.push('[options]')
  return parts.join(' ')
}

function argumentRow({ name, summary, choices }: ArgumentSpec): string {
  return row(name, summary, choices)
}

function optionRow({ flags, summary, choices }: OptionSpec<unknown>): string {
  return row(flags, summary, choices)
}

function row(name: string, summary: string, choices: readonly string[] | undefined): string {
  const list = choices === undefined ? '' : ` (${choices.map((choice) => `\`${choice}\``).join(', ')})`
  return `| \`${name}\` | ${escapeTags(summary + list).replaceAll('|', '\\|')} |`
}

/** Escapes `<` outside of code, because a browser does not show `<name>`. */
function escapeTags(text: string): string {
  return text.replace(/`[^`]*`|</g, (found) => (found === '<' ? '\\<' : found))
}

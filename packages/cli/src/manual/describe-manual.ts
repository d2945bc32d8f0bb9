/** The manual page, generated from the command table. */
import { VERSION } from '@windlass/plan/version'
import type { Command } from '../command.ts'
import { ENVIRONMENT, EXIT_TEXT, usageOf } from './describe-commands.ts'
import { commands, headingOf } from '../table.ts'

/** Returns the source of `windlass.1`, for `man`. */
export function describeManual(): string {
  const groups = Map.groupBy(commands, ({ name }) => headingOf(name.split(' ')[0] ?? name))
  const lines = [
    `.TH WINDLASS 1 "" "Windlass ${VERSION}" "Windlass"`,
    '.SH NAME',
    'windlass \\- run builds in your own clusters and on this machine',
    '.SH SYNOPSIS',
    '.B windlass',
    '.I command',
    '[arguments] [options]',
    ...[...groups].flatMap(([heading, of]) => [`.SH ${escape(heading.toUpperCase())}`, ...of.flatMap(describe)]),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, about]) => ['.TP', `.B ${name}`, escape(about)]),
    '.SH EXIT STATUS',
    ...EXIT_TEXT.flatMap(([code, text]) => ['.TP', `.B ${code}`, escape(text)]),
  ]
  return `${lines.join('\n')}\n`
}

function describe(command: Command): string[] {
  const lines = ['.TP', `.B ${escape(usageOf(command))}`, `${escape(command.summary)}.`]
  if (command.about !== undefined) lines.push('.RS', '.PP', escape(command.about), '.RE')
  const rows = [
    ...command.arguments.map(({ name, summary, choices }) => ({ name, summary, choices })),
    ...Object.values(command.options).map(({ flags, summary, choices }) => ({ name: flags, summary, choices })),
  ]
  if (rows.length === 0) return lines
  return [...lines, '.RS', ...rows.flatMap(({ name, summary, choices }) => item(name, summary, choices)), '.RE']
}

function item(name: string, summary: string, choices: readonly string[] | undefined): string[] {
  return ['.TP', `.B ${escape(name)}`, escape(choices === undefined ? summary : `${summary} (${choices.join(', ')})`)]
}

/** Escapes what roff would read as a request, an escape or a hyphen that cannot be copied. */
function escape(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('\n', ' ').replace(/^[.']/, '\\&$&')
}

import { fault } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import { AccountSettings } from '@windlass/protocol'
import { getSettings, putSettings } from '../api.ts'
import { readChanges, type Changes } from '../changes.ts'
import type { Invocation } from '../command.ts'
import { alignColumns } from '../format/columns.ts'
import { printValue } from '../format/output.ts'
import type { Printer } from '../printer.ts'
import { openSession } from '../session.ts'

interface Options {
  readonly output: 'json' | 'yaml' | undefined
}

/** `get settings`. */
export async function showSettings({ options, out, settings }: Invocation<Options>): Promise<void> {
  await print(out, await getSettings(openSession(settings).client), options.output)
}

/** `set settings NAME=VALUE...`: the others stay. */
export async function setSettings({ args, options, out, settings }: Invocation<Options>): Promise<void> {
  const { set, unset } = readChanges(args)
  for (const name of [...Object.keys(set), ...unset]) requireName(name)
  const { client } = openSession(settings)
  const before = Object.entries(await getSettings(client)).filter(([name]) => !unset.includes(name))
  await print(out, await putSettings(client, { ...Object.fromEntries(before), ...fitTypes(set) }), options.output)
}

function requireName(name: string): void {
  const names = Object.keys(AccountSettings.shape)
  if (names.includes(name)) return
  const near = nearest(name, names)
  throw fault('usage', {
    message: `There is no setting '${name}'.`,
    hint: near === undefined ? `They are ${names.join(', ')}.` : `Did you mean '${near}'?`,
  })
}

/** Some settings are texts of digits. */
function fitTypes(set: Changes['set']): Record<string, unknown> {
  const { lowMemoryWarningThreshold: percent, ...rest } = set
  return { ...rest, ...(percent !== undefined && { lowMemoryWarningThreshold: String(percent) }) }
}

async function print(out: Printer, settings: AccountSettings, format: 'json' | 'yaml' | undefined): Promise<void> {
  if (format !== undefined) return printValue(out, settings, format)
  for (const line of alignColumns(Object.entries(settings).map(([name, value]) => [name, show(value)]))) out.line(line)
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

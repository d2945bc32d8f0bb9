import { fault } from '@windlass/kit/faults'
import { nearest } from '@windlass/plan'
import { AccountSettings, ProjectQuotas } from '@windlass/protocol'
import { readChanges, type Changes } from '../../input/changes.ts'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

interface Options {
  readonly output: 'json' | 'yaml' | undefined
}

/** Runs `get settings`. */
export async function showSettings({ options, out, settings }: Invocation<Options>): Promise<void> {
  await print(out, await openSession(settings).client.settings.get(), options.output)
}

/** Runs `set settings NAME=VALUE...`. Keeps the other settings. */
export async function setSettings({ args, options, out, settings }: Invocation<Options>): Promise<void> {
  const { set, unset } = readChanges(args)
  for (const name of [...Object.keys(set), ...unset])
    requireName(name, { what: 'setting', names: Object.keys(AccountSettings.shape) })
  const { client } = openSession(settings)
  const before = Object.entries(await client.settings.get()).filter(([name]) => !unset.includes(name))
  await print(out, await client.settings.put({ ...Object.fromEntries(before), ...convertTypes(set) }), options.output)
}

interface Known {
  readonly what: string
  readonly names: readonly string[]
}

function requireName(name: string, { what, names }: Known): void {
  if (names.includes(name)) return
  const near = nearest(name, names)
  throw fault('usage', {
    message: `The ${what} "${name}" does not exist.`,
    hint: near === undefined ? `Use one of ${names.join(', ')}.` : `Did you mean "${near}"?`,
  })
}

/** Runs `get quotas PROJECT`. */
export async function showQuotas({ args, options, out, settings }: Invocation<Options>): Promise<void> {
  const { quotas = {} } = await openSession(settings).client.projects.get(args[0] ?? '')
  await print(out, quotas, options.output)
}

/** Runs `set quotas PROJECT NAME=VALUE...`. Keeps the other quotas. */
export async function setQuotas({ args, options, out, settings }: Invocation<Options>): Promise<void> {
  const [project = '', ...changes] = args
  const { set, unset } = readChanges(changes)
  for (const name of [...Object.keys(set), ...unset])
    requireName(name, { what: 'quota', names: Object.keys(ProjectQuotas.shape) })
  const { projects } = openSession(settings).client
  const before = Object.entries((await projects.get(project)).quotas ?? {}).filter(([name]) => !unset.includes(name))
  const { quotas = {} } = await projects.putQuotas(project, { ...Object.fromEntries(before), ...set })
  await print(out, quotas, options.output)
}

/** Converts settings that the API expects as text. */
function convertTypes(set: Changes['set']): Record<string, unknown> {
  const { lowMemoryWarningThreshold: percent, runtimeAccess, ...rest } = set
  if (runtimeAccess !== undefined)
    throw fault('usage', {
      message: 'runtimeAccess is not a single value.',
      hint: 'Give a tag to teams with `windlass set runtime-access TAG --team TEAM`.',
    })
  return { ...rest, ...(percent !== undefined && { lowMemoryWarningThreshold: String(percent) }) }
}

interface AccessOptions extends Options {
  readonly team: readonly string[]
  readonly everybody: boolean
}

/** Runs `set runtime-access TAG`. Keeps the other tags. */
export async function setRuntimeAccess({ args, options, out, settings }: Invocation<AccessOptions>): Promise<void> {
  const [tag = ''] = args
  const { team, everybody, output } = options
  if (everybody && team.length > 0)
    throw fault('usage', { message: '--team and --everybody exclude each other.', hint: 'Use one of them.' })
  const { client } = openSession(settings)
  const { runtimeAccess, ...before } = await client.settings.get()
  const others = Object.entries(runtimeAccess).filter(([name]) => name !== tag)
  const own = everybody ? [] : [[tag, [...new Set(team)]] as const]
  const after = await client.settings.put({ ...before, runtimeAccess: Object.fromEntries([...others, ...own]) })
  if (output !== undefined) return printValue(out, after.runtimeAccess, output)
  out.line(`Runtimes with the tag ${tag}: ${describeAccess(after.runtimeAccess[tag])}.`)
}

function describeAccess(teams: readonly string[] | undefined): string {
  if (teams === undefined) return 'everybody'
  return teams.length === 0 ? 'only admins' : `members of ${teams.join(', ')}, and admins`
}

async function print(
  out: Printer,
  settings: AccountSettings | ProjectQuotas,
  format: 'json' | 'yaml' | undefined,
): Promise<void> {
  if (format !== undefined) return printValue(out, settings, format)
  for (const line of alignColumns(Object.entries(settings).map(([name, value]) => [name, show(value)]))) out.line(line)
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

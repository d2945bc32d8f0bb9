/** The commands `get re`, `patch re`, `delete re` and `diff re`. */
import { extname } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { ApiClient } from '@windlass/client'
import { isRecord } from '@windlass/kit/json'
import { leavesOf, type Runtime } from '@windlass/protocol'
import { parse } from 'yaml'
import type { Invocation } from '../../command.ts'
import { EXIT } from '../../exit-codes.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { printTable, type Listing } from '../../format/table.ts'
import { readInput } from '../../input/input-files.ts'
import { runtimes as runtimeKind, type Columns } from '../../resources/kinds.ts'
import { diffTrees, fromDocument, toDocument, type RuntimeChange } from '../../runner/runtime-document.ts'
import { mergeTrees, type Tree } from '../../runner/values/read-values.ts'
import type { Printer } from '../../printer.ts'
import { openSession } from '../../session/session.ts'

const PAGE_SIZE = 25

interface GetOptions extends Listing {
  readonly version: number | undefined
  readonly history: boolean | undefined
  readonly extend: boolean | undefined
  readonly origins: boolean
  readonly limit: number | undefined
  readonly page: number | undefined
}

/** Runs `get runtimes [NAME]`: the list, one runtime, its versions, or the origins of its values. Throws `usage`, `not-found`. */
export async function getRuntimes({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const { client } = openSession(settings)
  const [name] = args
  if (name === undefined && (options.history === true || options.version !== undefined || options.origins))
    throw fault('usage', {
      message: '--history, --version and --origins need the name of a runtime environment.',
      hint: 'Run `windlass get re NAME --history`.',
    })
  if (name !== undefined && options.origins) {
    const merged = await client.runtimes.get(name, { query: { version: options.version, merged: true } })
    return printOrigins(out, options, merged)
  }
  if (name !== undefined && options.history === true) return printValue(out, (await client.runtimes.versions(name)).items, 'json')
  const one =
    name === undefined
      ? undefined
      : await client.runtimes.get(name, { query: { version: options.version, merged: options.extend } })
  if (one !== undefined && (options.output === 'json' || options.output === 'yaml'))
    return printValue(out, toDocument(one), options.output)
  const size = options.limit ?? PAGE_SIZE
  const from = ((options.page ?? 1) - 1) * size
  const list = async (): Promise<Runtime[]> =>
    name === undefined ? (await client.runtimes.list()).items.slice(from, from + size) : [await client.runtimes.get(name)]
  const { RUNNING, WAITING, AGE, HEALTH, ...columns } = runtimeKind.columns
  await printTable(out, options, {
    kind: runtimeKind.singular,
    list,
    nameOf: runtimeKind.nameOf,
    columns: { ...columns, ...SPEC_COLUMNS, ...defined({ HEALTH }) },
    wide: { ...defined({ RUNNING, WAITING, AGE }), ...runtimeKind.wide },
  })
}

/** Prints each value of a merged specification with its path and the name of its layer. */
async function printOrigins(out: Printer, { output, noHeaders }: Listing, { spec, origins = {} }: Runtime): Promise<void> {
  const values = [...leavesOf(spec)]
    .map(([path, value]) => ({ path, value, from: origins[path] }))
    .toSorted((one, other) => one.path.localeCompare(other.path))
  if (output === 'json' || output === 'yaml') return printValue(out, values, output)
  const head = noHeaders ? [] : [['PATH', 'VALUE', 'FROM'].map((cell) => out.stdout.style.dim(cell))]
  const rows = values.map(({ path, value, from = '' }) => [path, JSON.stringify(value), from])
  for (const line of alignColumns([...head, ...rows])) out.line(line)
}

/** Columns for the specification. */
const SPEC_COLUMNS: Columns<Runtime> = {
  VERSION: ({ version }) => String(version),
  EXTENDS: ({ spec }) => (Array.isArray(spec['extends']) ? spec['extends'].join(',') : ''),
  'LAST CHANGED BY': ({ changedBy }) => changedBy,
}

function defined(columns: Readonly<Record<string, Columns<Runtime>[string] | undefined>>): Columns<Runtime> {
  const there = Object.entries(columns).flatMap(([name, cell]) => (cell === undefined ? [] : [[name, cell] as const]))
  return Object.fromEntries(there)
}

export async function getRuntimeImages({ args, options, out, settings }: Invocation<Listing>): Promise<void> {
  const { client } = openSession(settings)
  const list = async () => (await client.runtimes.images(args[0] ?? '')).items.map((item) => ({ ...item, id: item.component }))
  await printTable(out, options, {
    kind: 'image',
    list,
    nameOf: ({ component }) => component,
    columns: { COMPONENT: ({ component }) => component, IMAGE: ({ image }) => image },
    wide: {},
  })
}

interface PatchOptions {
  readonly file: string | undefined
  readonly default: boolean | undefined
  readonly extends: readonly string[]
  readonly capacity: number | undefined
  readonly namespace: string | undefined
  readonly cluster: string | undefined
  readonly description: string | undefined
}

/** Adds a version of the specification, and with `--default` makes it the default. Throws `usage`, `document-invalid`, `not-found`. */
export async function patchRuntime({ args, options, out, settings }: Invocation<PatchOptions>): Promise<void> {
  const { client } = openSession(settings)
  const change = options.file === undefined ? undefined : readChange(options.file, args[0])
  const name = change?.name ?? args[0]
  if (name === undefined)
    throw fault('usage', { message: 'No runtime environment was given.', hint: 'Run `windlass patch re NAME -f FILE`.' })
  const flags = flagsOf(options)
  if (change === undefined && flags === undefined && options.default !== true)
    throw fault('usage', {
      message: 'No change was given.',
      hint: 'Name a file with -f, set --capacity, or make it the default with --default.',
    })
  if (change !== undefined || flags !== undefined) {
    const before = await client.runtimes.get(name)
    const spec = mergeTrees(change?.spec ?? before.spec, flags ?? {})
    const { type, agent, isDefault } = before
    const body = { name, type, isDefault, spec, ...(agent !== undefined && { agent }) }
    await client.runtimes.put(name, body, { query: { description: options.description } })
  }
  if (options.default === true) await client.runtimes.makeDefault(name)
  out.line(`Runtime environment: "${name}" patched`)
}

/** Reads a specification in the Codefresh format. Throws `usage` for another kind of file, and `document-invalid`. */
export function readChange(path: string, name: string | undefined): RuntimeChange {
  if (path !== '-' && !['.json', '.yml', '.yaml'].includes(extname(path)))
    throw fault('usage', {
      message: `${path} is not a JSON or YAML file.`,
      hint: 'Use a name that ends with .json, .yml or .yaml.',
    })
  const file = readInput(path)
  let document: unknown
  try {
    document = parse(file.text, { maxAliasCount: 100 })
  } catch (error) {
    throw fault('document-invalid', {
      message: `${file.name} is not valid YAML: ${error instanceof Error ? error.message : String(error)}`,
      hint: 'Correct the file, then run the command again.',
    })
  }
  return fromDocument(document, { file: file.name, name })
}

/** Returns the changes of the specification by flags, if any. */
function flagsOf(options: PatchOptions): Tree | undefined {
  const cluster = {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.cluster !== undefined && { clusterProvider: { selector: options.cluster } }),
  }
  const placed = Object.keys(cluster).length > 0
  const tree = {
    ...(options.extends.length > 0 && { extends: options.extends }),
    ...(options.capacity !== undefined && { capacity: options.capacity }),
    ...(placed && { runtimeScheduler: { cluster }, dockerDaemonScheduler: { cluster } }),
  }
  return Object.keys(tree).length === 0 ? undefined : tree
}

export async function deleteRuntimeNamed({
  args,
  options,
  out,
  settings,
}: Invocation<{ force: boolean | undefined }>): Promise<void> {
  const [name = ''] = args
  await openSession(settings).client.runtimes.delete(name, { query: { force: options.force === true } })
  out.line(`runtime/${name} deleted`)
}

interface DiffOptions {
  readonly firstName: string | undefined
  readonly firstVersion: number | undefined
  readonly secondName: string | undefined
  readonly secondVersion: number | undefined
}

/** Prints each leaf that differs. The exit code is 1 if one does, as with `diff`. */
export async function diffRuntimes({ options, out, settings }: Invocation<DiffOptions>): Promise<number> {
  const { client } = openSession(settings)
  const first = options.firstName ?? options.secondName
  if (first === undefined) throw fault('usage', { message: 'No runtime environment was given.', hint: 'Add --first-name.' })
  const from = await specOf(client, first, options.firstVersion)
  const to = await specOf(client, options.secondName ?? first, options.secondVersion)
  const { style } = out.stdout
  const leaves = diffTrees(from, to)
  for (const { path, ...sides } of leaves) {
    if ('from' in sides) out.line(style.red(`- ${path}: ${JSON.stringify(sides.from)}`))
    if ('to' in sides) out.line(style.green(`+ ${path}: ${JSON.stringify(sides.to)}`))
  }
  return leaves.length === 0 ? EXIT.success : EXIT.failed
}

async function specOf(client: ApiClient, name: string, version: number | undefined): Promise<Tree> {
  const { spec } = await client.runtimes.get(name, { query: { version, merged: true } })
  return isRecord(spec) ? spec : {}
}

/** Runs `create re`, which Codefresh removed: explains the alternatives and fails. */
export async function explainCreation({ out }: Invocation<object>): Promise<number> {
  out.note(
    'Create runtime environments with `windlass runner init` or `windlass install runtime`, or from a document with `windlass apply -f FILE`.',
  )
  return EXIT.failed
}

/** Runtime environments: `get re`, `patch re`, `delete re`, `diff re`. */
import { extname } from 'node:path'
import { fault } from '@windlass/kit/faults'
import type { Client, Runtime } from '@windlass/protocol'
import { parse } from 'yaml'
import {
  deleteRuntime,
  getRuntime,
  listRuntimeImages,
  listRuntimes,
  listRuntimeVersions,
  makeDefaultRuntime,
  putRuntime,
} from '../api-runner.ts'
import type { Invocation } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { printValue } from '../format/output.ts'
import { printTable, type Listing } from '../format/table.ts'
import { readInput } from '../input-files.ts'
import { runtimes as runtimeKind, type Columns } from '../resources/kinds.ts'
import { diffTrees, fromDocument, toDocument } from '../runner/runtime-document.ts'
import { isTree, mergeTrees, type Tree } from '../runner/values/read-values.ts'
import { openSession } from '../session.ts'

const PAGE_SIZE = 25

interface GetOptions extends Listing {
  readonly version: number | undefined
  readonly history: boolean | undefined
  readonly extend: boolean | undefined
  readonly limit: number | undefined
  readonly page: number | undefined
}

export async function getRuntimes({ args, options, out, settings }: Invocation<GetOptions>): Promise<void> {
  const { client } = openSession(settings)
  const [name] = args
  if (name === undefined && (options.history === true || options.version !== undefined))
    throw fault('usage', {
      message: '--history and --version need the name of a runtime environment.',
      hint: 'windlass get re NAME --history',
    })
  if (name !== undefined && options.history === true) return printValue(out, await listRuntimeVersions(client, name), 'json')
  const one =
    name === undefined ? undefined : await getRuntime(client, name, { version: options.version, merged: options.extend })
  if (one !== undefined && (options.output === 'json' || options.output === 'yaml'))
    return printValue(out, toDocument(one), options.output)
  const size = options.limit ?? PAGE_SIZE
  const from = ((options.page ?? 1) - 1) * size
  const list = async (): Promise<Awaited<ReturnType<typeof listRuntimes>>> =>
    name === undefined ? (await listRuntimes(client)).slice(from, from + size) : [await getRuntime(client, name)]
  const { RUNNING, WAITING, AGE, ...columns } = runtimeKind.columns
  await printTable(out, options, {
    kind: runtimeKind.singular,
    list,
    nameOf: runtimeKind.nameOf,
    columns: { ...columns, ...SPEC_COLUMNS },
    wide: { ...defined({ RUNNING, WAITING, AGE }), ...runtimeKind.wide },
  })
}

/** What there is to say of a specification in a list. */
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
  const list = async () => (await listRuntimeImages(client, args[0] ?? '')).map((item) => ({ ...item, id: item.component }))
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
  readonly namespace: string | undefined
  readonly cluster: string | undefined
  readonly description: string | undefined
}

/** A new version of the specification, and with `--default` the default one. Throws `usage`, `document-invalid`, `not-found`. */
export async function patchRuntime({ args, options, out, settings }: Invocation<PatchOptions>): Promise<void> {
  const { client } = openSession(settings)
  const change = options.file === undefined ? undefined : readChange(options.file, args[0])
  const name = change?.name ?? args[0]
  if (name === undefined) throw fault('usage', { message: 'Which runtime environment?', hint: 'windlass patch re NAME -f FILE' })
  const flags = flagsOf(options)
  if (change === undefined && flags === undefined && options.default !== true)
    throw fault('usage', {
      message: 'Nothing is to change.',
      hint: 'Name a file with -f, or make it the default with --default.',
    })
  if (change !== undefined || flags !== undefined) {
    const before = await getRuntime(client, name)
    const spec = mergeTrees(change?.spec ?? before.spec, flags ?? {})
    const { type, agent, isDefault } = before
    const body = { name, type, isDefault, spec, ...(agent !== undefined && { agent }) }
    await putRuntime(client, body, options.description)
  }
  if (options.default === true) await makeDefaultRuntime(client, name)
  out.line(`Runtime environment: "${name}" patched`)
}

function readChange(path: string, name: string | undefined) {
  if (path !== '-' && !['.json', '.yml', '.yaml'].includes(extname(path)))
    throw fault('usage', { message: `${path} is neither JSON nor YAML.`, hint: 'Its name must end with .json, .yml or .yaml.' })
  const file = readInput(path)
  let document: unknown
  try {
    document = parse(file.text, { maxAliasCount: 100 })
  } catch (error) {
    throw fault('document-invalid', {
      message: `${file.name} is not YAML: ${error instanceof Error ? error.message : String(error)}`,
    })
  }
  return fromDocument(document, { file: file.name, name })
}

/** What flags change of a specification; undefined when there are none. */
function flagsOf(options: PatchOptions): Tree | undefined {
  const cluster = {
    ...(options.namespace !== undefined && { namespace: options.namespace }),
    ...(options.cluster !== undefined && { clusterProvider: { selector: options.cluster } }),
  }
  const placed = Object.keys(cluster).length > 0
  const tree = {
    ...(options.extends.length > 0 && { extends: options.extends }),
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
  await deleteRuntime(openSession(settings).client, name, { force: options.force === true })
  out.line(`runtime/${name} deleted`)
}

interface DiffOptions {
  readonly firstName: string | undefined
  readonly firstVersion: number | undefined
  readonly secondName: string | undefined
  readonly secondVersion: number | undefined
}

/** Prints one line for each leaf that differs; exit code 1 when there is one, as `diff` does. */
export async function diffRuntimes({ options, out, settings }: Invocation<DiffOptions>): Promise<number> {
  const { client } = openSession(settings)
  const first = options.firstName ?? options.secondName
  if (first === undefined) throw fault('usage', { message: 'Which runtime environment?', hint: 'Add --first-name.' })
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

async function specOf(client: Client, name: string, version: number | undefined): Promise<Tree> {
  const { spec } = await getRuntime(client, name, { version, merged: true })
  return isTree(spec) ? spec : {}
}

/** `create re`: the vendor dropped it; it fails and says what to do. */
export async function explainCreation({ out }: Invocation<object>): Promise<number> {
  out.note(
    'Runtime environments are made by `windlass runner init` or `windlass install runtime`, or from a document: `windlass apply -f FILE`.',
  )
  return EXIT.failed
}

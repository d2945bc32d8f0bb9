/** What the clusters have of an application: its tree, differences, logs and events. */
import { fault } from '@windlass/kit/faults'
import { unifiedDiff } from '@windlass/plan'
import type { ResourceDifference, ResourceNode } from '@windlass/protocol'
import { systemClock } from '@windlass/kit'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { paintDiff } from '../../format/diff.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { openRuntime } from '../gitops-repository/runtime-session.ts'
import { nameOf, select } from './resource-names.ts'
import type { Shown } from './show.ts'

/** Runs `gitops app tree RUNTIME NAME`. */
export async function showTree({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const { items } = await calls.applicationTree(name)
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('The application has no objects.')
  const head = ['OBJECT', 'HEALTH', 'AGE', 'DETAILS'].map((cell) => out.stdout.style.dim(cell))
  for (const line of alignColumns([head, ...rowsOf(items, out.stdout.style)])) out.line(line)
  return undefined
}

/** Returns a row for each object, below the one that it belongs to. */
function rowsOf(nodes: readonly ResourceNode[], style: Style): string[][] {
  const uids = new Set(nodes.map(({ uid }) => uid))
  const sorted = nodes.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const now = systemClock.now()
  const below = (parent: string | undefined): ResourceNode[] =>
    sorted.filter(({ parents }) => {
      const known = parents.filter((uid) => uids.has(uid))
      return parent === undefined ? known.length === 0 : known[0] === parent
    })
  // Objects that own each other would never end. Each is shown once.
  const seen = new Set<ResourceNode>()
  const rows: string[][] = []
  const add = (node: ResourceNode, depth: number): void => {
    if (seen.has(node)) return
    seen.add(node)
    const details = [
      ...node.info.map(({ name, value }) => `${name}: ${value}`),
      ...(node.message === undefined ? [] : [node.message]),
    ]
    rows.push([
      `${'  '.repeat(depth)}${nameOf(node)}`,
      node.health === undefined ? '' : paintStatus(style, node.health),
      node.createdAt === undefined ? '' : formatAge(node.createdAt, now),
      details.join(', '),
    ])
    if (node.uid !== undefined) for (const child of below(node.uid)) add(child, depth + 1)
  }
  for (const root of below(undefined)) add(root, 0)
  return rows
}

/** Runs `gitops app diff RUNTIME NAME`. Resolves to 1 if there are differences. */
export async function showDiff({
  args,
  options,
  out,
  settings,
}: Invocation<Shown & { readonly refresh: boolean }>): Promise<number | void> {
  const [runtime = '', name = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  if (options.refresh) await calls.refreshApplication(name, {})
  const { items } = await calls.applicationDiff(name)
  const code = items.length === 0 ? 0 : 1
  if (options.output !== undefined) await printValue(out, items, options.output)
  else if (items.length === 0) out.note('The cluster has what the source says.')
  else for (const item of items) for (const line of await diffOf(item, out.stdout.style)) out.line(line)
  return code
}

async function diffOf(item: ResourceDifference, style: Style): Promise<string[]> {
  const { stringify } = await import('yaml')
  const name = nameOf(item)
  const textOf = (state: unknown): string => (state === undefined ? '' : stringify(state, { sortMapEntries: true, lineWidth: 0 }))
  const absent = '/dev/null'
  const labels = {
    before: item.change === 'create' ? absent : `${name} (cluster)`,
    after: item.change === 'delete' ? absent : `${name} (source)`,
  }
  return paintDiff(unifiedDiff(textOf(item.live), textOf(item.target), labels), style)
}

/** Runs `gitops app manifest RUNTIME NAME OBJECT`. */
export async function showManifest({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = '', object = ''] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const found = select((await calls.applicationTree(name)).items, [object])
  const [node] = found
  if (node === undefined || found.length > 1)
    throw fault('usage', {
      message: `"${object}" is the name of ${found.length} objects: ${found.map(nameOf).join(', ')}.`,
      hint: 'Name one of them.',
    })
  const { group = '', kind, namespace = '', name: own } = node
  const { manifest } = await calls.applicationResource(name, { query: { group, kind, namespace, name: own } })
  await printValue(out, manifest, options.output ?? 'yaml')
}

/** Runs `gitops app events RUNTIME NAME [OBJECT]`. */
export async function showEvents({ args, options, out, settings }: Invocation<Shown>): Promise<void> {
  const [runtime = '', name = '', object] = args
  const { calls } = await openRuntime(settings, { runtime, url: options.runtimeUrl })
  const [node] = object === undefined ? [] : select((await calls.applicationTree(name)).items, [object])
  const query = node === undefined ? {} : { uid: node.uid, name: node.name, namespace: node.namespace }
  const { items } = await calls.applicationEvents(name, { query })
  if (options.output !== undefined) return printValue(out, items, options.output)
  if (items.length === 0) return out.note('No events found.')
  const now = systemClock.now()
  const head = ['AGE', 'TYPE', 'REASON', 'COUNT', 'MESSAGE'].map((cell) => out.stdout.style.dim(cell))
  const rows = items.map(({ at, type, reason, count, message }) => [
    at === undefined ? '' : formatAge(at, now),
    type,
    reason,
    count === undefined ? '' : String(count),
    message,
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
  return undefined
}

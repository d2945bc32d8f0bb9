import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { ClusterObject, Monitor, MONITORED_KINDS, page, type Client } from '@windlass/protocol'
import type { Invocation } from '../command.ts'
import { alignColumns } from '../format/columns.ts'
import { printValue } from '../format/output.ts'
import { paintStatus } from '../format/style.ts'
import { formatAge } from '../format/time.ts'
import { openSession } from '../session.ts'

interface Output {
  readonly output: 'json' | 'yaml' | undefined
}

const PAGE = 500
/** Longest cell of a table; the rest is in `-o json`. */
const CELL = 60

async function listMonitors(client: Client): Promise<Monitor[]> {
  return (await client.call('GET', '/v1/monitors', page(Monitor))).items
}

/** `get monitors`. */
export async function getMonitors({ options, out, settings }: Invocation<Output>): Promise<void> {
  const monitors = await listMonitors(openSession(settings).client)
  if (options.output !== undefined) return printValue(out, monitors, options.output)
  if (monitors.length === 0) return out.note('No monitor has reported a cluster.')
  const { style } = out.stdout
  const head = ['CLUSTER', 'STATUS', 'KUBERNETES', 'OBJECTS', 'SEEN'].map((text) => style.dim(text))
  const rows = monitors.map(({ cluster, status, clusterVersion, objects, seenAt }) => [
    cluster,
    paintStatus(style, status),
    clusterVersion ?? '',
    String(objects),
    formatAge(seenAt, systemClock.now()),
  ])
  for (const line of alignColumns([head, ...rows])) out.line(line)
}

/** `get objects KIND`. Throws `usage` for a kind that is not reported, `not-found` where no or no single cluster is. */
export async function getObjects({
  args: [given = ''],
  options,
  out,
  settings,
}: Invocation<Output & { readonly cluster: string | undefined; readonly namespace: string | undefined }>): Promise<void> {
  const kind = MONITORED_KINDS.find((name) => name.toLowerCase() === given.toLowerCase())
  if (kind === undefined)
    throw fault('usage', { message: `Monitors report no ${given}.`, hint: `They report ${MONITORED_KINDS.join(', ')}.` })
  const { client } = openSession(settings)
  const cluster = options.cluster ?? (await onlyCluster(client))
  const objects = await listObjects(client, cluster, { kind, namespace: options.namespace })
  if (options.output !== undefined) return printValue(out, objects, options.output)
  if (objects.length === 0) return out.note(`No ${kind} is reported of ${cluster}.`)
  for (const line of toTable(objects, out.stdout.style.dim)) out.line(line)
}

async function onlyCluster(client: Client): Promise<string> {
  const monitors = await listMonitors(client)
  const [only, ...more] = monitors
  if (only !== undefined && more.length === 0) return only.cluster
  if (only === undefined)
    throw fault('not-found', {
      message: 'No monitor has reported a cluster.',
      hint: 'Install one: `windlass install monitor`.',
    })
  const names = monitors.map((monitor) => monitor.cluster).join(', ')
  throw fault('usage', { message: 'Several clusters are reported.', hint: `Name one with --cluster: ${names}.` })
}

async function listObjects(
  client: Client,
  cluster: string,
  filter: { kind: string; namespace: string | undefined },
): Promise<ClusterObject[]> {
  const objects: ClusterObject[] = []
  for (let cursor: string | undefined; ;) {
    const query = { ...filter, cursor, limit: PAGE }
    const path = `/v1/monitors/${encodeURIComponent(cluster)}/objects`
    const { items, next } = await client.call('GET', path, page(ClusterObject), { query })
    objects.push(...items)
    if (next === undefined) return objects
    cursor = next
  }
}

/** A column for each field that some object of the kind has, in the order in which they come. */
function toTable(objects: readonly ClusterObject[], dim: (text: string) => string): string[] {
  const fields = [...new Set(objects.flatMap(({ summary }) => Object.keys(summary)))]
  const isNamespaced = objects.some(({ namespace }) => namespace !== '')
  const head = [...(isNamespaced ? ['namespace'] : []), 'name', ...fields, 'age'].map((text) => dim(text.toUpperCase()))
  const now = systemClock.now()
  const rows = objects.map(({ namespace, name, summary, createdAt }) => [
    ...(isNamespaced ? [namespace] : []),
    name,
    ...fields.map((field) => String(summary[field] ?? '').slice(0, CELL)),
    createdAt === undefined ? '' : formatAge(createdAt, now),
  ])
  return alignColumns([head, ...rows])
}

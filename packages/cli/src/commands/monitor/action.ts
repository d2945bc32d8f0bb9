import { systemClock } from '@windlass/kit'
import { fault } from '@windlass/kit/faults'
import { listAll, type ApiClient } from '@windlass/client'
import { MONITORED_KINDS, type ClusterObject } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus } from '../../format/style.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

interface Output {
  readonly output: 'json' | 'yaml' | undefined
}

/** Maximum length of a table cell; `-o json` has the whole value. */
const CELL = 60

/** Runs `get monitors`. */
export async function getMonitors({ options, out, settings }: Invocation<Output>): Promise<void> {
  const { items: monitors } = await openSession(settings).client.monitors.list()
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

/** Runs `get objects KIND`. Throws `usage` for an unknown kind or if several clusters match, `not-found` if no cluster is reported. */
export async function getObjects({
  args: [given = ''],
  options,
  out,
  settings,
}: Invocation<Output & { readonly cluster: string | undefined; readonly namespace: string | undefined }>): Promise<void> {
  const kind = MONITORED_KINDS.find((name) => name.toLowerCase() === given.toLowerCase())
  if (kind === undefined)
    throw fault('usage', { message: `Monitors do not report "${given}".`, hint: `Use one of ${MONITORED_KINDS.join(', ')}.` })
  const { client } = openSession(settings)
  const cluster = options.cluster ?? (await onlyCluster(client))
  const filter = { kind, namespace: options.namespace }
  const objects = await listAll(({ query }) => client.monitors.objects(cluster, { query: { ...filter, ...query } }))
  if (options.output !== undefined) return printValue(out, objects, options.output)
  if (objects.length === 0) return out.note(`No ${kind} found in ${cluster}.`)
  for (const line of toTable(objects, out.stdout.style.dim)) out.line(line)
}

async function onlyCluster(client: ApiClient): Promise<string> {
  const { items: monitors } = await client.monitors.list()
  const [only, ...more] = monitors
  if (only !== undefined && more.length === 0) return only.cluster
  if (only === undefined)
    throw fault('not-found', {
      message: 'No monitor has reported a cluster.',
      hint: 'Install one with `windlass install monitor`.',
    })
  const names = monitors.map((monitor) => monitor.cluster).join(', ')
  throw fault('usage', { message: 'Several clusters have a monitor.', hint: `Name one with --cluster: ${names}.` })
}

/** Renders a table with a column for each field of any of the objects, in order of appearance. */
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

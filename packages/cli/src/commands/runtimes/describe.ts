/** The command `describe re`. */
import { systemClock } from '@windlass/kit'
import { isRecord } from '@windlass/kit/json'
import type { Runtime } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { namespaceOf } from '../../runner/runtime-document.ts'
import { valueAt } from '../../runner/values/read-values.ts'
import { openSession } from '../../session/session.ts'

/** Everything that the description shows. */
export interface DescribedRuntime {
  /** The runtime as stored. */
  readonly runtime: Runtime
  /** Its specification with everything that it extends. */
  readonly merged: Runtime['spec']
  readonly images: readonly { readonly component: string; readonly image: string }[]
}

/** Runs `describe re NAME`. */
export async function describeRuntimeNamed({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const { client } = openSession(settings)
  const [name = ''] = args
  const runtime = await client.runtimes.get(name)
  const { spec: merged } = await client.runtimes.get(name, { query: { merged: true } })
  const { items: images } = await client.runtimes.images(name)
  const described = { runtime, merged, images: [...images] }
  if (options.output !== undefined) return printValue(out, described, options.output)
  for (const line of describeRuntime(described, { style: out.stdout.style, now: systemClock.now() })) out.line(line)
}

/** Returns the lines of the description. Pure. */
export function describeRuntime(described: DescribedRuntime, { style, now }: { style: Style; now: number }): string[] {
  const { runtime, merged, images } = described
  const rows: [string, string][] = [
    ['Runtime:', runtime.name],
    ['Type:', runtime.type],
    ['Default:', runtime.isDefault ? 'yes' : 'no'],
    ['Health:', runtime.health?.sentence ?? ''],
    ['Agent:', agentOf(runtime, { style, now })],
    ['Builds:', `${runtime.running} running, ${runtime.waiting} waiting`],
    ['Capacity:', textAt(merged, ['capacity'])],
    ['Warm pairs:', warmOf(runtime)],
    ['Version:', `${runtime.version}, by ${runtime.changedBy} on ${formatTime(runtime.updatedAt)}`],
    ['Extends:', textAt(runtime.spec, ['extends'])],
    ['Namespace:', namespaceOf({ spec: merged }) ?? ''],
    ['Disk:', diskOf(merged)],
    ['Engine nodes:', textAt(merged, ['runtimeScheduler', 'cluster', 'nodeSelector'])],
    ['Docker nodes:', textAt(merged, ['dockerDaemonScheduler', 'cluster', 'nodeSelector'])],
    ...images.map(({ component, image }): [string, string] => [`Image of ${component}:`, image]),
  ]
  return alignColumns(rows.filter(([, value]) => value !== ''))
}

function agentOf({ agent, agentOnline, agentState }: Runtime, { style, now }: { style: Style; now: number }): string {
  if (agent === undefined) return 'none; attach one: `windlass attach runtime`'
  const status = paintStatus(style, agentOnline ? 'online' : 'offline')
  if (agentState === undefined) return `${agent} (${status})`
  const { exists, lastSeenAt, version, message } = agentState
  if (!exists) return `${agent} (the agent is deleted)`
  const seen = lastSeenAt === undefined ? 'never seen' : `seen ${formatAge(lastSeenAt, now)} ago`
  const more = [version === undefined ? '' : `version ${version}`, message ?? ''].filter((text) => text !== '')
  return `${agent} (${[status, seen, ...more].join(', ')})`
}

function warmOf({ warm }: Runtime): string {
  if (warm === undefined) return ''
  return `${warm.ready} ready, ${warm.starting} starting${warm.problem === undefined ? '' : `; ${warm.problem}`}`
}

function diskOf(spec: Runtime['spec']): string {
  const disk = ['dockerDaemonScheduler', 'pvcs', 'dind']
  const size = textAt(spec, [...disk, 'volumeSize'])
  const storageClass = textAt(spec, [...disk, 'storageClassName'])
  return [size, storageClass === '' ? '' : `class ${storageClass}`].filter((text) => text !== '').join(', ')
}

/** Returns the value at a path as text: lists with commas, mappings as `key=value`; empty if there is none. */
function textAt(tree: unknown, path: readonly string[]): string {
  const value = valueAt(tree, path)
  if (Array.isArray(value)) return value.map(String).join(', ')
  if (isRecord(value))
    return Object.entries(value)
      .map(([key, text]) => `${key}=${String(text)}`)
      .join(', ')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

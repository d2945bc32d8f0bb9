/** The command `describe re`. */
import { systemClock } from '@windlass/kit'
import type { ApiClient } from '@windlass/client'
import { isFault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import type { Agent, Runtime } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { paintStatus, type Style } from '../../format/style.ts'
import { formatAge, formatTime } from '../../format/time.ts'
import { namespaceOf } from '../../runner/runtime-document.ts'
import { valueAt } from '../../runner/values/read-values.ts'
import { openSession } from '../../session.ts'

/** Everything that the description shows. */
export interface DescribedRuntime {
  /** The runtime as stored. */
  readonly runtime: Runtime
  /** Its specification with everything that it extends. */
  readonly merged: Runtime['spec']
  /** Undefined if the runtime has none; `deleted`, or `hidden` from this key. */
  readonly agent: Agent | 'deleted' | 'hidden' | undefined
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
  const agent = runtime.agent === undefined ? undefined : await readAgent(client, runtime.agent)
  const { items: images } = await client.runtimes.images(name)
  const described = { runtime, merged, agent, images: [...images] }
  if (options.output !== undefined) return printValue(out, described, options.output)
  for (const line of describeRuntime(described, { style: out.stdout.style, now: systemClock.now() })) out.line(line)
}

/** Returns the lines of the description. Pure. */
export function describeRuntime(described: DescribedRuntime, { style, now }: { style: Style; now: number }): string[] {
  const { runtime, merged, agent, images } = described
  const rows: [string, string][] = [
    ['Runtime:', runtime.name],
    ['Type:', runtime.type],
    ['Default:', runtime.isDefault ? 'yes' : 'no'],
    ['Agent:', agentOf(runtime, agent, { style, now })],
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

/** Reading a runtime does not include reading its agent. */
async function readAgent(client: ApiClient, name: string): Promise<Agent | 'deleted' | 'hidden'> {
  try {
    return await client.agents.get(name)
  } catch (error) {
    if (isFault(error, 'not-found')) return 'deleted'
    if (isFault(error, 'forbidden', 'scope-missing')) return 'hidden'
    throw error
  }
}

function agentOf(runtime: Runtime, agent: DescribedRuntime['agent'], { style, now }: { style: Style; now: number }): string {
  if (runtime.agent === undefined) return 'none; attach one: `windlass attach runtime`'
  const status = paintStatus(style, runtime.agentOnline ? 'online' : 'offline')
  if (agent === 'hidden') return `${runtime.agent} (${status}; reading more needs the scope agent:read)`
  if (agent === undefined || agent === 'deleted') return `${runtime.agent} (the agent is deleted)`
  const seen = agent.lastSeenAt === undefined ? 'never seen' : `seen ${formatAge(agent.lastSeenAt, now)} ago`
  const more = [agent.version === undefined ? '' : `version ${agent.version}`, agent.message ?? ''].filter((text) => text !== '')
  return `${runtime.agent} (${[status, seen, ...more].join(', ')})`
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

import { systemClock } from '@windlass/kit'
import type { SystemState } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

const DAY_MS = 86_400_000

/** Runs `get system`. */
export async function showSystem({ options, out, settings }: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const system = await openSession(settings).client.server.system()
  if (options.output !== undefined) return printValue(out, system, options.output)
  for (const line of describeSystem(system, systemClock.now())) out.line(line)
}

/** Returns the lines of the description. Pure. */
function describeSystem(system: SystemState, now: number): string[] {
  const { store, agents, retention, queue, replicas } = system
  const oldest = queue.oldestTaskAt === undefined ? '' : `, the oldest for ${formatAge(queue.oldestTaskAt, now)}`
  return alignColumns(
    [
      ['Version:', system.version],
      ['Servers:', replicas.map(({ version, lagMs }) => [version ?? 'unknown', ...lag(lagMs)].join(', ')).join('; ')],
      [
        'Agents:',
        `${agents.online} of ${agents.total} online${agents.versions.length === 0 ? '' : `, versions ${agents.versions.join(', ')}`}`,
      ],
      ['Database:', `${store.kind} ${store.version}, ${gibibytes(store.bytes)}, ${store.pingMs.toFixed(1)} ms`],
      ['Disk:', describeDisk(system)],
      ['Retention:', `builds ${retention.buildDays} days, logs ${retention.logDays} days`],
      ['Next logs:', goes(retention.oldestLogAt, retention.logDays)],
      ['Next builds:', goes(retention.oldestBuildAt, retention.buildDays)],
      ['Queue:', `${queue.running} running, ${queue.waiting} waiting, ${queue.tasks} tasks${oldest}`],
      ['Settings:', describeSettings(system)],
    ].filter(([, value]) => value !== ''),
  )
}

function lag(lagMs: number | undefined): string[] {
  return lagMs === undefined ? [] : [`event loop ${lagMs} ms`]
}

function describeDisk({ disk: { totalBytes, freeBytes, fullInMs } }: SystemState): string {
  const full = fullInMs === undefined ? '' : `, full in about ${Math.round(fullInMs / DAY_MS)} days`
  return `${gibibytes(totalBytes - freeBytes)} of ${gibibytes(totalBytes)}${full}`
}

/** Returns when data of the oldest build is deleted. */
function goes(at: number | undefined, days: number): string {
  return at === undefined ? '' : `deleted on ${new Date(at + days * DAY_MS).toISOString().slice(0, 10)}`
}

function describeSettings({ settings: { current, defaults } }: SystemState): string {
  const other: Readonly<Record<string, unknown>> = defaults
  const changed = Object.entries(current).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(other[name]))
  return changed.length === 0 ? 'all default' : changed.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')
}

function gibibytes(bytes: number): string {
  return bytes < 1_073_741_824 ? `${Math.round(bytes / 1_048_576)} MiB` : `${(bytes / 1_073_741_824).toFixed(1)} GiB`
}

import { systemClock } from '@windlass/kit'
import type { RuntimeActivity } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

const HOUR_MS = 3_600_000

/** Runs `get activity RUNTIME`. */
export async function showActivity({
  args,
  options,
  out,
  settings,
}: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const activity = await openSession(settings).client.runtimes.activity(args[0] ?? '')
  if (options.output !== undefined) return printValue(out, activity, options.output)
  for (const line of describeActivity(activity, systemClock.now())) out.line(line)
}

/** Returns the lines of the description: builds and pairs, and the greatest load of each hour. Pure. */
function describeActivity({ running, waiting, pairs, samples }: RuntimeActivity, now: number): string[] {
  const builds = [
    ...running.map(({ number, pipeline = '', status, startedAt }) => [
      `#${number}`,
      status,
      pipeline,
      startedAt === undefined ? '' : formatAge(startedAt, now),
    ]),
    ...waiting.map(({ number, pipeline = '', reason = 'queued', since }) => [
      `#${number}`,
      `waiting (${reason})`,
      pipeline,
      formatAge(since, now),
    ]),
    ...pairs.map(({ status, createdAt, pods }) => ['pair', status, pods.join(' '), formatAge(createdAt, now)]),
  ]
  return [
    ...alignColumns([['WHAT', 'STATUS', 'OF', 'SINCE'], ...builds]),
    '',
    ...alignColumns([['HOUR', 'RUNNING', 'WAITING', 'PAIRS'], ...byHour(samples)]),
  ]
}

function byHour(samples: RuntimeActivity['samples']): string[][] {
  const hours = new Map<number, RuntimeActivity['samples']>()
  for (const sample of samples) {
    const hour = Math.floor(sample.at / HOUR_MS) * HOUR_MS
    hours.set(hour, [...(hours.get(hour) ?? []), sample])
  }
  return [...hours].map(([hour, own]) => {
    const most = (of: 'running' | 'waiting' | 'pairs'): string => String(Math.max(...own.map((sample) => sample[of])))
    return [`${new Date(hour).toISOString().slice(0, 13)}:00Z`, most('running'), most('waiting'), most('pairs')]
  })
}

import { systemClock } from '@windlass/kit'
import { formatDuration, formatHolders, textOfReason } from '@windlass/plan'
import type { QueueCause } from '@windlass/protocol'
import type { Invocation } from '../../command.ts'
import { alignColumns } from '../../format/columns.ts'
import { printValue } from '../../format/output.ts'
import { formatAge } from '../../format/time.ts'
import { openSession } from '../../session/session.ts'

/** Builds of a cause that are named. */
const NAMED = 5

/** Runs `get queue`. */
export async function showQueue({ options, out, settings }: Invocation<{ output: 'json' | 'yaml' | undefined }>): Promise<void> {
  const queue = await openSession(settings).client.builds.queue()
  if (options.output !== undefined) return printValue(out, queue, options.output)
  if (queue.items.length === 0) return out.note('No build waits.')
  const { style } = out.stdout
  const now = systemClock.now()
  const head = ['WAITING', 'OLDEST', 'REASON', 'USED', 'NEXT', 'BUILDS'].map((cell) => style.dim(cell))
  for (const line of alignColumns([head, ...queue.items.map((cause) => toRow(cause, now))])) out.line(line)
  for (const cause of queue.items)
    out.line(`${style.dim(`${cause.reason}:`)} ${cause.message ?? textOfReason(cause.reason) ?? ''}`)
}

function toRow(cause: QueueCause, now: number): string[] {
  const { waiting, since, reason, used, limit, nextMs, builds } = cause
  return [
    String(waiting),
    formatAge(since, now),
    reason,
    used === undefined || limit === undefined ? '' : `${used} of ${limit}${formatHolders(cause)}`,
    nextMs === undefined ? '' : `in about ${formatDuration(nextMs)}`,
    builds
      .slice(0, NAMED)
      .map(({ number }) => `#${number}`)
      .join(' ') + (waiting > NAMED ? ' …' : ''),
  ]
}

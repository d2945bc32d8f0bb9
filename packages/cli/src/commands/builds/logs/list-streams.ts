import { defined } from '@windlass/kit/defined'
import type { LogStream } from '@windlass/protocol'
import { alignColumns } from '../../../format/columns.ts'
import { formatTime } from '../../../format/time.ts'
import { formatBytes } from '@windlass/plan'
import type { LogSource } from './source.ts'
import { streamName } from './stream-name.ts'

/** Prints the streams of a log with their size. */
export async function listStreams({ client, build, out, attempt }: LogSource): Promise<void> {
  const rows: string[][] = []
  let expiredAt: number | undefined
  for (let cursor: string | undefined; ;) {
    const page = await client.builds.logStreams(build.id, { query: defined({ attempt, cursor }) })
    rows.push(...page.items.map(toRow))
    ;({ expiredAt } = page)
    if (page.next === undefined) break
    cursor = page.next
  }
  if (rows.length === 0) {
    out.note(expiredAt === undefined ? 'The build has no output.' : `The log expired at ${formatTime(expiredAt)}.`)
    return
  }
  const head = ['STEP', 'LINES', 'SIZE', 'LAST OUTPUT', 'STATE'].map((name) => out.stdout.style.dim(name))
  for (const line of alignColumns([head, ...rows])) out.line(line)
}

function toRow(stream: LogStream): string[] {
  const { lines, bytes, lastAt } = stream
  return [streamName(stream), lines === undefined ? '?' : String(lines), formatBytes(bytes), formatTime(lastAt), stateOf(stream)]
}

function stateOf({ open, cut, missingBytes = 0 }: LogStream): string {
  if (cut) return missingBytes > 0 ? `incomplete: at least ${formatBytes(missingBytes)} lost` : 'incomplete'
  return open ? 'open' : 'complete'
}

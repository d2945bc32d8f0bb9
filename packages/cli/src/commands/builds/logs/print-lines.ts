import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { MAX_LINES } from '@windlass/protocol'
import { textFor } from '../../../follow/line-splitter.ts'
import { formatBytes } from '@windlass/plan'
import type { LogSource } from './source.ts'

interface LineRange {
  /** Number of the first line, from 1. */
  readonly first: number
  /** Number of the last line; undefined for the end of the log. */
  readonly last: number | undefined
}

/** Prints lines of a step: `20`, `100-200`, or `100-` to the end. */
export async function printLines({ client, build, out, stream = '', attempt: chosen }: LogSource, text: string): Promise<void> {
  const { first, last = Infinity } = parseLines(text)
  let attempt = chosen
  for (let from = first - 1; from < last;) {
    const count = Math.min(MAX_LINES, last - from)
    const block = await client.builds.logLines(build.id, { query: { stream, from, count, ...defined({ attempt }) } })
    out.stdout.write(textFor(out.stdout, block.text))
    await out.stdout.drained()
    for (const [line, bytes] of block.cut) out.note(`The last ${formatBytes(bytes)} of line ${line + 1} are left out.`)
    if (from === first - 1 && block.lines === 0) out.note(`The log has ${block.total} lines.`)
    // A new attempt may start in the meantime.
    ;({ attempt } = block)
    from += block.lines
    if (block.lines === 0 || from >= block.total) return
  }
}

/** Parses a range of lines. Throws `usage`. */
export function parseLines(text: string): LineRange {
  const [, from = '', dash = '', to = ''] = /^(\d{1,12})(?:(-)(\d{1,12})?)?$/.exec(text) ?? []
  const first = Number(from)
  const last = to === '' ? undefined : Number(to)
  if (first < 1 || (last !== undefined && last < first))
    throw fault('usage', { message: `--lines takes a range such as 20, 100-200 or 100-, not "${text}".` })
  return { first, last: dash === '' ? first : last }
}

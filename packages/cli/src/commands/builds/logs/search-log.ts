import { defined } from '@windlass/kit/defined'
import type { LogMatches } from '@windlass/protocol'
import type { LogSource } from './source.ts'
import { streamName } from './stream-name.ts'

interface SearchOptions {
  readonly search: string
  readonly regex: boolean
  readonly ignoreCase: boolean
}

/** Prints the lines with a match: the step, the number of the line from 1, and its visible text. */
export async function searchLog(source: LogSource, { search: q, regex, ignoreCase }: SearchOptions): Promise<void> {
  const { client, build, out, stream, attempt } = source
  let count = 0
  let printed = ''
  for (let after: string | undefined; ;) {
    const query = { q, regex, case: !ignoreCase, text: true, ...defined({ stream, attempt, after }) }
    const answer = await client.builds.searchLog(build.id, { query })
    count += answer.count
    for (const found of answer.streams) {
      for (const [name, line] of linesOf(found)) {
        // A line may have several matches, also at the end of one answer and the start of the next.
        if (name === printed) continue
        printed = name
        out.line(stream === undefined ? `${name}: ${line}` : `${name.slice(name.lastIndexOf(':') + 1)}: ${line}`)
      }
      await out.stdout.drained()
    }
    if (answer.next === undefined) break
    after = answer.next
  }
  if (count === 0) out.note('No line matches.')
}

function* linesOf(found: LogMatches): Generator<[name: string, text: string]> {
  for (const [index, [line]] of found.matches.entries()) yield [`${streamName(found)}:${line + 1}`, found.texts?.[index] ?? '']
}

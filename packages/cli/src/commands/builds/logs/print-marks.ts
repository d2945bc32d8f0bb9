import { defined } from '@windlass/kit/defined'
import { fault } from '@windlass/kit/faults'
import { stepStream } from '@windlass/protocol'
import type { LogSource } from './source.ts'
import { streamName } from './stream-name.ts'

/** Calls for one stream. A stream that grows all the time has no end. */
const MAX_CALLS = 100

interface Place {
  readonly stream: string
  readonly attempt: number
}

/** Prints the lines with which tools report a failure: the step, the number of the line from 1, and its visible text. */
export async function printProblems(source: LogSource): Promise<void> {
  const { build, out, stream } = source
  let count = 0
  for (const place of await listPlaces(source)) {
    const { problems, isCut } = await readMarks(source, place)
    count += problems.length
    for (const { line, text } of problems) out.line(`${stream === undefined ? `${streamName(place)}:` : ''}${line + 1}: ${text}`)
    if (isCut) out.note(`${streamName(place)} has more problems.`)
    await out.stdout.drained()
  }
  if (count === 0) out.note(`The log of build ${build.id} reports no problem of a known form.`)
}

/** Prints the lines of a step that the same step of another build lacks. Default: the step to blame, and the last successful build of the branch. */
export async function printNewLines(
  { client, build, out, stream, attempt }: LogSource,
  against: string | undefined,
): Promise<void> {
  const own = stream ?? (build.blame === undefined ? undefined : stepStream(build.blame))
  if (own === undefined)
    throw fault('usage', { message: '--new needs --step, because no step of the build failed.', hint: 'Name a step.' })
  const found = await client.builds.newLogLines(build.id, {
    query: { stream: own, limit: 10_000, ...defined({ attempt, against }) },
  })
  for (const { line, text } of found.lines) out.line(`${line + 1}: ${text}`)
  const { count, lines, complete } = found
  out.note(
    `${count} lines of ${streamName(found)} are not in the log of build ${found.against.id} (number ${found.against.number}).` +
      `${count > lines.length ? ` The first ${lines.length} are printed.` : ''}${complete ? '' : ' The logs were too long to compare all lines.'}`,
  )
}

async function listPlaces({ client, build, stream, attempt }: LogSource): Promise<Place[]> {
  const places: Place[] = []
  for (let cursor: string | undefined; ;) {
    const page = await client.builds.logStreams(build.id, { query: defined({ attempt, cursor }) })
    places.push(...page.items.filter((item) => stream === undefined || item.stream === stream))
    if (page.next === undefined) break
    cursor = page.next
  }
  // Without --attempt, the last attempt of a step counts.
  return attempt === undefined && stream !== undefined ? places.slice(-1) : places
}

/** Reads the marks of a stream to its present end. */
async function readMarks(
  { client, build }: LogSource,
  { stream, attempt }: Place,
): ReturnType<LogSource['client']['builds']['logMarks']> {
  for (let calls = 1, before = -1; ; calls += 1) {
    const marks = await client.builds.logMarks(build.id, { query: { stream, attempt } })
    if (marks.complete || marks.lines === before || calls === MAX_CALLS) return marks
    before = marks.lines
  }
}

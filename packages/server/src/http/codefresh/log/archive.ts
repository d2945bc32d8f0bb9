/** The whole log of a build as one JSON document, which is written step by step so that a long log uses little memory. */
import type { FastifyReply } from 'fastify'
import { fault } from '@windlass/kit'
import { isFinalBuild } from '@windlass/plan'
import type { App } from '../../../app.ts'
import { feedTopic } from '../../../builds/lifecycle/edit.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { openOutlet, type Outlet } from '../../../feed/event-stream.ts'
import type { ChunkPart } from '../../../logs/objects/read-ahead.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import { listStreamChunks, listStreams } from '../../../store/builds/logs/streams.ts'
import type { BuildRow, ChunkRow, StreamRow } from '../../../store/schema/schema.ts'
import { END_STEP, endLines, openLineSplitter, stepNameOf } from './log-lines.ts'

/** Interval of the spaces that keep the connection of a running build open. They are legal before a JSON document. Milliseconds. */
const KEEP_ALIVE_MS = 15_000
const CHUNKS_PER_PAGE = 200

export interface ArchiveRequest {
  readonly buildId: string
  readonly reply: FastifyReply
  readonly signal: AbortSignal
}

/** Writes the log of a build when it has ended, and holds the response until then. Throws `not-found` for an unknown build. */
export async function serveArchive(app: App, { buildId, reply, signal }: ArchiveRequest): Promise<void> {
  requireFound(await findBuild(app.store.query, app.accountId, buildId), `build ${buildId}`)
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
  const out = openOutlet(app, reply, { status: 200, headers, signal })
  try {
    const build = await awaitEnd(app, { buildId, out, signal })
    if (build === undefined) {
      reply.raw.destroy()
      return
    }
    await writeSteps(app, out, build)
    out.end()
  } catch (error) {
    // An incomplete document must fail visibly.
    reply.raw.destroy()
    if (!signal.aborted) app.log.warn({ err: error, buildId }, 'log download aborted')
  }
}

/** Returns the ended build; undefined if the reader disconnects, or if the build is deleted. */
async function awaitEnd(
  app: App,
  { buildId, out, signal }: { readonly buildId: string; readonly out: Outlet; readonly signal: AbortSignal },
): Promise<BuildRow | undefined> {
  using watch = app.store.watch(feedTopic(buildId))
  let writtenAt = app.clock.monotonic()
  for (;;) {
    const build = await findBuild(app.store.query, app.accountId, buildId)
    if (build === undefined || signal.aborted) return undefined
    if (isFinalBuild(build.status)) return build
    await watch.next(Math.min(app.store.pollMs, KEEP_ALIVE_MS), signal)
    if (app.clock.monotonic() - writtenAt < KEEP_ALIVE_MS) continue
    writtenAt = app.clock.monotonic()
    await out.write(' ')
  }
}

interface ArchivedStep {
  readonly name: string
  readonly createdAt: number
  /** Position of the first output in the feed. */
  readonly position: number
  readonly streams: readonly StreamRow[]
}

async function writeSteps(app: App, out: Outlet, build: BuildRow): Promise<void> {
  await out.write('{"steps":[')
  let comma = ''
  for (const { name, createdAt, streams } of await listSteps(app, build.id)) {
    await out.write(`${comma}{"name":${JSON.stringify(name)},"creationTimeStamp":${createdAt},"logs":[`)
    comma = ','
    let isFirst = true
    for (const stream of streams)
      for await (const lines of readLines(app, stream)) {
        await out.write(`${isFirst ? '' : ','}${lines.map((line) => JSON.stringify(line)).join(',')}`)
        isFirst = false
      }
    await out.write(']}')
  }
  const last = endLines(build)
  const end = { name: END_STEP, creationTimeStamp: build.finished_at, logs: last }
  await out.write(last.length === 0 ? ']}' : `${comma}${JSON.stringify(end)}]}`)
}

/** Groups the streams of a build by the step that shows them, in the order of their first output. */
async function listSteps(app: App, buildId: string): Promise<ArchivedStep[]> {
  const steps = new Map<string, { createdAt: number; position: number; streams: StreamRow[] }>()
  for (const stream of await listStreams(app.store.query, buildId)) {
    const name = stepNameOf(stream.stream, stream.attempt)
    const [first] = name === undefined ? [] : await listChunksOf(app, stream, { from: 0, limit: 1 })
    if (name === undefined || first === undefined) continue
    const step = steps.get(name) ?? { createdAt: first.at, position: first.position, streams: [] }
    step.createdAt = Math.min(step.createdAt, first.at)
    step.position = Math.min(step.position, first.position)
    step.streams.push(stream)
    steps.set(name, step)
  }
  return [...steps].map(([name, step]) => ({ name, ...step })).toSorted((a, b) => a.position - b.position)
}

/** Yields the lines of a stream, some at a time. Throws `not-found` if they expire. */
async function* readLines(app: App, stream: StreamRow): AsyncGenerator<string[]> {
  const splitter = openLineSplitter()
  for (let from = 0; from < stream.bytes;) {
    const chunks = await listChunksOf(app, stream, { from, limit: CHUNKS_PER_PAGE })
    const last = chunks.at(-1)
    if (last === undefined) throw fault('not-found', { message: 'The log has expired.' })
    const parts: ChunkPart[] = chunks.map((chunk) => ({ chunk, from: 0, bytes: chunk.bytes }))
    const at = timesOf(chunks)
    let read = 0
    for await (const piece of app.logs.readParts(parts)) {
      read += piece.length
      const lines = splitter.push(piece, at(read))
      if (lines.length > 0) yield lines
    }
    from = last.start + last.bytes
  }
  const rest = splitter.flush()
  if (rest.length > 0) yield rest
}

function listChunksOf(app: App, row: StreamRow, range: { readonly from: number; readonly limit: number }): Promise<ChunkRow[]> {
  const { build_id: buildId, attempt, stream, bytes: to } = row
  return listStreamChunks(app.store.query, { buildId, attempt, stream }, { ...range, to })
}

/** Returns a function that returns the time of the chunk that contains the byte before an offset. Offsets must not decrease. */
function timesOf(chunks: readonly ChunkRow[]): (offset: number) => number {
  let index = 0
  let end = chunks[0]?.bytes ?? 0
  return (offset) => {
    while (offset > end && index < chunks.length - 1) end += chunks[(index += 1)]?.bytes ?? 0
    return chunks[index]?.at ?? 0
  }
}

/** The log of a build: its streams, lines of a stream, search, and download. */
import { fault } from '@windlass/kit'
import {
  Id,
  LogLines,
  LogLinesQuery,
  LogMarks,
  LogMarksQuery,
  LogNew,
  LogNewQuery,
  LogQuery,
  LogSearch,
  LogSearchQuery,
  LogStreamQuery,
  LogStreams,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../../app.ts'
import { findComparedBuild } from '../../../builds/list/compared-build.ts'
import { requireFound } from '../../../builds/lifecycle/require-found.ts'
import { expiredLog } from '../../../logs/expired-log.ts'
import { requireLogStream } from '../../../logs/find-log-stream.ts'
import { listLogStreams } from '../../../logs/list-streams.ts'
import { limitComparisons, type CompareLogs } from '../../../logs/marks/new-lines.ts'
import { readMarks } from '../../../logs/marks/read-marks.ts'
import { readLines } from '../../../logs/text/read-lines.ts'
import { searchLog } from '../../../logs/search/search.ts'
import { serveLog } from '../../../logs/serve.ts'
import { requireStream, rightToRead } from '../../../logs/stream-right.ts'
import { placesOf } from '../../../identity/actor.ts'
import { findBuild } from '../../../store/builds/builds.ts'
import { placeOf } from '../../../store/places.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import { isKnownTag } from '../../known-tag.ts'
import { ok, route, type Answer, type Route } from '../../route.ts'
import { readQuotas } from '../../../pipelines/projects.ts'
import { findProject } from '../../../store/pipelines/projects.ts'

const ById = z.object({ id: Id })
/** Lines that no longer change, of an attempt that the caller names. Another session of the browser does not get them, because of `vary`. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** Maximum number of concurrent searches of one caller. */
const SEARCHES = 4
/** Maximum number of concurrent comparisons of one caller, which need more memory. */
const COMPARISONS = 2

export function logRoutes(app: App): Route[] {
  const compare = limitComparisons()
  return [
    route('GET', '/v1/builds/{id}/log', {
      summary: 'Read or download the log of a build: one stream, or all in order',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogQuery,
      replies: { 200: 'text', 206: 'text' },
      isHeld: true,
      async handle({ params, query, headers, actor, reply, signal }) {
        const build = await getBuild(app, params.id)
        requireStream(actor, placeOf(build), query.stream)
        using _reader = app.readers.take(actor)
        await serveLog(app, { build, query, range: headers.range, reply, signal })
        return 'stream'
      },
    }),
    route('GET', '/v1/builds/{id}/streams', {
      summary: 'List the streams of the log of a build, with their bytes and lines',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogStreamQuery,
      replies: { 200: LogStreams },
      handle: async ({ params, query }) => ok(await listLogStreams(app, await getBuild(app, params.id), query)),
    }),
    route('GET', '/v1/builds/{id}/log/lines', {
      summary: 'Read lines of a stream by number',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogLinesQuery,
      replies: { 200: LogLines, 304: 'nothing' },
      async handle({ params, query, headers, actor }) {
        const build = await getKeptBuild(app, params.id)
        requireStream(actor, placeOf(build), query.stream)
        return answerLines(app, build, { query, known: headers['if-none-match'] })
      },
    }),
    route('GET', '/v1/builds/{id}/log/search', {
      summary: 'Search the visible text of the log of a build',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogSearchQuery,
      replies: { 200: LogSearch },
      callsAtOnce: SEARCHES,
      isHeld: true,
      async handle({ params, query, actor, signal }) {
        const build = await getKeptBuild(app, params.id)
        requireStream(actor, placeOf(build), query.stream)
        return ok(await searchLog(app, build.id, query, signal))
      },
    }),
    route('GET', '/v1/builds/{id}/log/marks', {
      summary: 'List the folds and the reported problems of a stream',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogMarksQuery,
      replies: { 200: LogMarks },
      callsAtOnce: SEARCHES,
      isHeld: true,
      async handle({ params, query, actor, signal }) {
        const build = await getKeptBuild(app, params.id)
        requireStream(actor, placeOf(build), query.stream)
        return ok(await readMarks(app, await requireLogStream(app, build.id, query), signal))
      },
    }),
    route('GET', '/v1/builds/{id}/log/new', {
      summary: 'List the lines of a stream that the same stream of another build lacks, apart from numbers, ids, times and paths',
      allow: 'see-logs',
      scope: 'build:read',
      project: 'build',
      params: ById,
      query: LogNewQuery,
      replies: { 200: LogNew },
      callsAtOnce: COMPARISONS,
      isHeld: true,
      async handle({ params, query, actor, signal }) {
        const build = await getKeptBuild(app, params.id)
        requireStream(actor, placeOf(build), query.stream)
        const seen = placesOf(actor, rightToRead(query.stream))
        const other = await findComparedBuild(app, build, { id: query.against, seen })
        return ok(await compareLogs({ app, compare }, { build, other }, query, signal))
      },
    }),
  ]
}

async function answerLines(
  app: App,
  { id }: BuildRow,
  { query, known }: { query: z.output<typeof LogLinesQuery>; known: string | undefined },
): Promise<Answer> {
  const { from, count } = query
  const row = await requireLogStream(app, id, query)
  const lines = await readLines(app, row, { from, count })
  // The number of lines of the stream may grow, the lines do not change.
  const tag = `"${lines.startByte}-${lines.bytes}"`
  if (!lines.complete) return ok(lines, { 'cache-control': 'no-store' })
  const isLasting = query.attempt !== undefined && from >= 0
  const headers = {
    etag: `W/${tag}`,
    'cache-control': isLasting ? IMMUTABLE : 'private, no-cache',
    vary: 'cookie, authorization',
  }
  return isKnownTag(known, tag) ? { status: 304, headers } : ok(lines, headers)
}

async function compareLogs(
  { app, compare }: { app: App; compare: CompareLogs },
  { build, other }: { build: BuildRow; other: BuildRow },
  { stream, attempt, limit }: z.output<typeof LogNewQuery>,
  signal: AbortSignal,
): Promise<LogNew> {
  if (other.logs_expired_at !== null)
    throw fault('not-found', {
      message: `The log of build ${other.id} has expired.`,
      hint: 'Name a build whose log still exists.',
    })
  const own = await requireLogStream(app, build.id, { stream, attempt })
  const compared = await requireLogStream(app, other.id, { stream })
  const found = await compare(app, { own, other: compared }, { limit, signal })
  const against = { id: other.id, number: other.number, attempt: compared.attempt }
  return { attempt: own.attempt, stream, against, ...found }
}

async function getBuild(app: App, id: string): Promise<BuildRow> {
  return requireFound(await findBuild(app.store.query, app.accountId, id), `build ${id}`)
}

/** Throws `not-found` also if the log has expired. */
async function getKeptBuild(app: App, id: string): Promise<BuildRow> {
  const build = await getBuild(app, id)
  if (build.logs_expired_at === null) return build
  const project = build.project_id === null ? undefined : await findProject(app.store.query, app.accountId, build.project_id)
  throw expiredLog(project && { name: project.name, quotas: readQuotas(project) })
}

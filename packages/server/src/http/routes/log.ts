/** The log of a build: its streams, lines of a stream, search, and download. */
import { fault } from '@windlass/kit'
import { Id, LogLines, LogLinesQuery, LogQuery, LogSearch, LogSearchQuery, LogStreamQuery, LogStreams } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { requireFound } from '../../builds/lifecycle/require-found.ts'
import { findCountedStream } from '../../logs/count-stream.ts'
import { expiredLog } from '../../logs/expired-log.ts'
import { listLogStreams } from '../../logs/list-streams.ts'
import { readLines } from '../../logs/read-lines.ts'
import { searchLog } from '../../logs/search/search.ts'
import { serveLog } from '../../logs/serve.ts'
import { findBuild } from '../../store/builds/builds.ts'
import { findLastStream, type StreamKey } from '../../store/builds/streams.ts'
import type { BuildRow } from '../../store/schema.ts'
import { isKnownTag } from '../known-tag.ts'
import { ok, route, type Answer, type Route } from '../route.ts'
import { readQuotas } from '../../pipelines/projects.ts'
import { findProject } from '../../store/account/projects.ts'

const ById = z.object({ id: Id })
/** Lines that no longer change, of an attempt that the caller names. Other users of the browser do not get them. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** Maximum number of concurrent searches of one caller. */
const SEARCHES = 4

export function logRoutes(app: App): Route[] {
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
      handle: async ({ params, query, headers }) =>
        answerLines(app, await getKeptBuild(app, params.id), { query, known: headers['if-none-match'] }),
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
      async handle({ params, query, signal }) {
        const { id } = await getKeptBuild(app, params.id)
        return ok(await searchLog(app, id, query, signal))
      },
    }),
  ]
}

async function answerLines(
  app: App,
  { id }: BuildRow,
  { query, known }: { query: z.output<typeof LogLinesQuery>; known: string | undefined },
): Promise<Answer> {
  const { stream, from, count } = query
  const attempt = query.attempt ?? (await findLastStream(app.store.query, id, stream))?.attempt
  const key: StreamKey = { buildId: id, attempt: attempt ?? 0, stream }
  const row = attempt === undefined ? undefined : await findCountedStream(app, key)
  if (row === undefined)
    throw fault('not-found', {
      message: `Build ${id} has no output in the stream "${stream}"${query.attempt === undefined ? '' : ` of attempt ${query.attempt}`}.`,
      hint: `\`GET /v1/builds/${id}/streams\` lists its streams.`,
    })
  const lines = await readLines(app, row, { from, count })
  // The number of lines of the stream may grow, the lines do not change.
  const tag = `"${lines.startByte}-${lines.bytes}"`
  if (!lines.complete) return ok(lines, { 'cache-control': 'no-store' })
  const isLasting = query.attempt !== undefined && from >= 0
  const headers = { etag: `W/${tag}`, 'cache-control': isLasting ? IMMUTABLE : 'private, no-cache' }
  return isKnownTag(known, tag) ? { status: 304, headers } : ok(lines, headers)
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

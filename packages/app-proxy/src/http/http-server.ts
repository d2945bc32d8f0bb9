/** The HTTP server of an app-proxy: probes, CORS, who calls, limits, validation and problems. */
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fault, hasCode, isAbort, isFault, watchUnused, type Fault, type Logger } from '@windlass/kit'
import type { Access } from '../access/access.ts'
import type { Audit } from '../audit/audit.ts'
import { openCalls, type Asked, type Calls } from './calls.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { requireHttps } from './https.ts'
import type { CallCounts } from '../metrics.ts'
import type { Route } from './route.ts'

export interface HttpOptions {
  readonly routes: readonly Route[]
  readonly access: Access
  readonly audit: Audit
  readonly counts: CallCounts
  /** Origins of pages that may call. */
  readonly origins: readonly string[]
  /** Path below which all routes are, without a slash at its end; empty for the root. */
  readonly pathPrefix: string
  /** True to refuse calls that did not come by HTTPS. */
  readonly requireHttps: boolean
  /** Returns why the process cannot serve; undefined if it can. */
  readonly problem: () => string | undefined
  readonly log: Logger
  /** Aborted when the process stops. */
  readonly closing: AbortSignal
}

const KEEP_ALIVE_MS = 75_000
const REQUEST_MS = 120_000

/** Creates the server without listening. */
export function openHttp(options: HttpOptions): FastifyInstance {
  const { origins, pathPrefix, problem, log, closing } = options
  const server = fastify({
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_MS,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
    genReqId: (request) => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : randomUUID()
    },
  })
  server.removeContentTypeParser('text/plain')
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    if (request.method === 'OPTIONS') return reply.code(204).headers(preflightHeaders(request.headers, origins)).send()
    reply.headers(corsHeaders(request.headers, origins))
    return undefined
  })
  server.setErrorHandler((error, request, reply) => {
    // The caller has left, which is not an error of this process.
    if (reply.raw.destroyed && (isAbort(error) || hasCode(error, 'ECONNRESET'))) return reply.send()
    const isStopped = closing.aborted && isAbort(error)
    return sendProblem(log, isStopped ? fault('unavailable', STOPPED, error) : toFault(error), request, reply)
  })
  server.setNotFoundHandler(async ({ method }) => {
    throw fault('not-found', {
      message: `The app-proxy does not have this path for ${method}.`,
      hint: 'If the caller has a later version, upgrade the GitOps runtime or the Runner.',
    })
  })
  // Kubelets call the pod without the prefix that callers use.
  const base = `${pathPrefix}/api`
  for (const place of new Set([base, '/api'])) {
    server.get(`${place}/healthz`, async () => ({ status: 'ok' }))
    server.get(`${place}/readyz`, async () => {
      const why = problem()
      if (why !== undefined) throw fault('unavailable', { message: why })
      return { status: 'ok' }
    })
  }
  const calls = openCalls({ ...options, base })
  for (const route of options.routes) addRoute(server, route, { ...options, base, calls })
  const closeUnused = watchUnused(server.server, { hasUpgrades: false })
  server.addHook('preClose', async () => closeUnused())
  return server
}

interface RouteOptions extends Pick<HttpOptions, 'closing' | 'counts' | 'requireHttps'> {
  /** Path below which all routes are. */
  readonly base: string
  readonly calls: Calls
}

function addRoute(server: FastifyInstance, route: Route, options: RouteOptions): void {
  const { base, calls, closing, counts } = options
  const { method, path, maxBodyBytes, slots } = route
  const asked = ({ url }: FastifyRequest): Asked => ({ route, path: url.split('?')[0] ?? '' })
  server.route({
    method,
    url: base + path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimit: maxBodyBytes,
    // Before the body is read, so that refused calls use no memory.
    async onRequest(request, reply) {
      counts.begin()
      whenGone(reply, () => counts.end(reply.raw.writableFinished ? reply.statusCode : undefined))
      if (options.requireHttps) requireHttps(request.headers)
      await calls.enter(request, asked(request))
      const leave = await slots?.enter()
      if (leave !== undefined) whenGone(reply, leave)
    },
    async handler(request, reply) {
      const gone = new AbortController()
      whenGone(reply, () => gone.abort(GONE))
      const { params, query, body } = request
      const signal = AbortSignal.any([gone.signal, closing])
      const answer = await calls.run(request, asked(request), { params, query, body, signal })
      if (answer === undefined) return reply.code(204).send()
      if (answer instanceof Readable) return reply.headers(EVENTS).send(answer)
      return reply.code(route.statusOf?.(answer) ?? 200).send(answer)
    },
  })
}

/** Calls `then` when the answer is sent or the caller disconnects. Calls it at once if that has already happened, because `close` is emitted only once. */
function whenGone({ raw }: FastifyReply, then: () => void): void {
  if (raw.closed || raw.destroyed) then()
  else raw.once('close', then)
}

/** Proxies on the way would keep events until there are many. */
const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

const STOPPED = { message: 'The app-proxy stops.', hint: 'Check whether the call had an effect, then repeat it.' }

/** Shared abort reason: creating an error with its stack for every call would cost more than the call. */
const GONE = new DOMException('the caller disconnected', 'AbortError')

/** Converts an error to a fault: the fault itself, an error of fastify, or a bug. */
function toFault(error: unknown): Fault {
  if (isFault(error)) return error
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return fault('payload-too-large', {}, error)
  if (code.startsWith('FST_ERR_CTP') || error instanceof SyntaxError)
    return fault(
      'request-invalid',
      { message: 'The body cannot be read.', hint: 'Send JSON with the type application/json.' },
      error,
    )
  return fault('internal', {}, error)
}

function sendProblem(log: Logger, problem: Fault, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { code, status, message, hint, details, retryable } = problem
  if (code === 'internal') log.error({ err: problem.cause ?? problem, requestId: request.id }, 'bug')
  else if (status >= 500) log.warn({ err: problem, requestId: request.id }, 'call failed')
  const { retryAfter, problems, right, other } = details
  if (retryable) reply.header('retry-after', typeof retryAfter === 'number' ? String(retryAfter) : '1')
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  return reply
    .code(status)
    .header('content-type', 'application/problem+json')
    .send(
      JSON.stringify({
        type: `urn:windlass:fault:${code}`,
        title: fault(code).message,
        status,
        detail: message,
        message,
        code,
        hint,
        requestId: request.id,
        problems,
        // The right that is missing, and the commit that is in the way.
        right,
        other,
      }),
    )
}

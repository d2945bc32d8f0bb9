/** Fastify server for the route table: identity, limits, validation, problems, metrics. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fault, isFault, sha256, watchUnused } from '@windlass/kit'
import type { App } from '../app.ts'
import { auditCall, recordFailure } from '../audit/record.ts'
import { noteBreak } from '../builds/engine/hearing.ts'
import proxyAddr from '@fastify/proxy-addr'
import { callerOf, type Actor } from '../identity/actor.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { authorize } from '../identity/authorize.ts'
import { findPassActor } from '../identity/keys/runtime-pass.ts'
import { authenticateSession } from '../identity/sessions/sessions.ts'
import { requireOwnOrigin } from '../identity/origin.ts'
import { addAssets, sendAsset, type Asset } from './assets.ts'
import { auditedCall } from './audited-call.ts'
import { bodyLimitOf, DEFAULT_BODY_BYTES, openBodyLimits, type Admit } from './bodies/body-limits.ts'
import { isLogSocket, serveLogSocket } from './codefresh/log/socket.ts'
import { readBody, releaseBody } from './bodies/body-pool.ts'
import { parseJson } from './bodies/json-body.ts'
import { openRateLimit } from './rate-limit.ts'
import { measureCall } from './measure-call.ts'
import { documentAt, isForPage, type Page } from './page.ts'
import { PAGE_HEADERS, problemPage } from './problem-page.ts'
import { toFault, toProblem, unknownRoute } from './problem.ts'
import { beginRepeatable, repeatKeyOf } from './replies.ts'
import type { Answer, Call, Outcome, Route } from './route.ts'
import { shownUrl } from './shown-url.ts'

export interface HttpOptions {
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  /** Proxies whose forwarding headers are believed: addresses and networks. */
  readonly trustedProxies?: readonly string[] | undefined
  readonly authenticator: Authenticator
  readonly routes: readonly Route[]
  /** Files for browsers, which need no credential. */
  readonly assets?: readonly Asset[]
  /** The page; absent if the server serves none. */
  readonly page?: Page | undefined
  /** Time in which a small body must arrive, milliseconds. Default: 20 s. */
  readonly bodyMs?: number | undefined
}

/** Time for which idle sockets are kept, a little longer than clients keep them, so that the client closes first. Milliseconds. */
const KEEP_ALIVE_MS = 75_000
/** Time after which an inactive socket is closed, longer than any held call. Otherwise an unread response would stay in memory forever. Milliseconds. */
const SILENT_MS = 150_000

/** Creates the server without listening. */
export function openHttp(app: App, options: HttpOptions): FastifyInstance {
  const server = newServer(options)
  server.removeAllContentTypeParsers()
  addParsers(server, options.routes)
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, 'x-content-type-options': 'nosniff' })
  })
  server.setErrorHandler((error, request, reply) => sendProblem(app, { error, request, reply }))
  const { page } = options
  server.setNotFoundHandler(async (request, reply) => {
    if (page !== undefined && isForPage(request)) return sendAsset(documentAt(page, request), request, reply)
    throw unknownRoute(request.method, shownUrl(request.url))
  })
  const admitFor = openBodyLimits(app, options.bodyMs)
  for (const route of options.routes) addRoute(app, server, { ...options, route, admit: admitFor(route.spec) })
  addAssets(server, [...(options.assets ?? []), ...(page?.assets ?? [])])
  const { trustedProxies = [] } = options
  const trust = proxyAddr.compile([...trustedProxies])
  const closeUnused = watchUnused(server.server, { hasUpgrades: true })
  server.addHook('preClose', async () => closeUnused())
  serveLogSocket(app, server.server, (request) => proxyAddr(request, trust))
  return server
}

const JSON_TYPE = 'application/json'

/** Adds parsers for JSON and for the media types of raw bodies. Bodies of other types are refused. */
function addParsers(server: FastifyInstance, routes: readonly Route[]): void {
  const raw = new Map(routes.map(({ method, path, spec }) => [`${method} ${toUrl(path)}`, spec.rawBody]))
  const typesOf = ({ method, routeOptions }: FastifyRequest): readonly string[] => raw.get(`${method} ${routeOptions.url}`) ?? []
  const requireType = (request: FastifyRequest, type: string): void => {
    const types = typesOf(request)
    if (types.includes(type)) return
    const wanted = types.length === 0 ? JSON_TYPE : types.join(' or ')
    throw fault('request-invalid', { message: `The body must have the type ${wanted}.`, hint: 'Send this type as Content-Type.' })
  }
  server.addContentTypeParser(JSON_TYPE, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (typesOf(request).length === 0) return parseJson(body.toString(), request.routeOptions.url ?? '')
    requireType(request, JSON_TYPE)
    return body
  })
  const others = new Set(routes.flatMap(({ spec }) => spec.rawBody ?? [])).difference(new Set([JSON_TYPE]))
  for (const type of others)
    server.addContentTypeParser(type, async (request: FastifyRequest, payload: AsyncIterable<Buffer>) => {
      requireType(request, type)
      return readBody(request, payload, request.routeOptions.bodyLimit ?? DEFAULT_BODY_BYTES)
    })
}

/** Converts a declared path to the form of fastify: `/v1/builds/{id}` to `/v1/builds/:id`. */
function toUrl(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function newServer({ tls, trustedProxies = [] }: HttpOptions): FastifyInstance {
  const common = {
    bodyLimit: DEFAULT_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionTimeout: SILENT_MS,
    requestTimeout: 120_000,
    forceCloseConnections: 'idle',
    // A client may send a call before it learns that this server stops. The call is answered, and its connection ends with the answer.
    return503OnClosing: false,
    genReqId: requestId,
    ...(trustedProxies.length > 0 && { trustProxy: [...trustedProxies] }),
    // A stream could never wait for its reader, because node drops what is written to a response to HEAD.
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 500 },
  } as const
  // Without it, node would hand over every request that offers another protocol, also those that only offer HTTP/2.
  const shouldUpgradeCallback = isLogSocket
  if (tls === undefined) return fastify({ ...common, http: { shouldUpgradeCallback } })
  const [cert, key] = [readFileSync(tls.certFile), readFileSync(tls.keyFile)]
  const https = { cert, key, minVersion: 'TLSv1.2', shouldUpgradeCallback } as const
  return fastify({ ...common, https }) as unknown as FastifyInstance
}

const EMPTY = Buffer.alloc(0)

const processId = randomBytes(6).toString('base64url')
let requests = 0

function requestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : `${processId}-${(requests += 1).toString(36)}`
}

interface RouteOptions extends Pick<HttpOptions, 'authenticator'> {
  readonly route: Route
  readonly admit: Admit
}

function addRoute(app: App, server: FastifyInstance, { authenticator, route, admit }: RouteOptions): void {
  const actors = new WeakMap<FastifyRequest, Actor>()
  /** End a call for the limits of its caller. */
  const leaves = new WeakMap<FastifyRequest, () => void>()
  const limit = route.spec.perMinute === undefined ? undefined : openRateLimit(app.clock, route.spec.perMinute)
  server.route({
    method: route.method,
    url: toUrl(route.path),
    exposeHeadRoute: route.method === 'GET' && route.spec.allow === 'public' && route.spec.isHeld !== true,
    bodyLimit: bodyLimitOf(route.spec),
    errorHandler(error, request, reply) {
      measureCall(app, route, { status: toFault(error).status, started: app.clock.monotonic() - reply.elapsedTime, request })
      return sendProblem(app, { error, request, reply, ...(route.spec.isPage === true && { isPage: true }) })
    },
    async onRequest(request, reply) {
      // Counted later, so that a web page cannot lock out the address of its readers.
      if (limit !== undefined) requireOwnOrigin(app, request)
      const actor = await identify(app, authenticator, request, route.spec)
      await authorize(app, actor, route, request.params).catch(async (error: unknown) => {
        const call = actor.kind === 'key' ? auditedCall(route, request, actor) : undefined
        if (call !== undefined) await recordFailure(app, call, error)
        throw error
      })
      actors.set(request, actor)
      // Checked before the body is read, so that refused calls use no memory.
      const leave = admit(callerOf(actor), request)
      if (leave === undefined) return
      leaves.set(request, leave)
      whenGone(reply, leave)
    },
    async handler(request, reply) {
      const started = app.clock.monotonic()
      const actor = actors.get(request) ?? { kind: 'nobody' }
      const run = (): Promise<Outcome> => answer(app, route, { request, reply, actor })
      // The limits protect the memory of the body and of the parsed document. The handler uses both until it ends, even if the caller disconnects, and
      // neither is in memory while the caller reads the answer.
      const leave = leaves.get(request)
      if (leave !== undefined) reply.raw.off('close', leave)
      const outcome = await app.documentPool
        .as(callerOf(actor), () => limit?.run(request.ip, run) ?? run())
        .finally(() => {
          leave?.()
          releaseBody(request)
        })
      if (outcome === 'stream') return reply
      measureCall(app, route, { status: outcome.status, started, request })
      return send(reply, outcome)
    },
  })
}

/** Returns who calls. The Authorization header takes precedence over the session cookie. Public routes ignore the cookie, which may be old. */
async function identify(
  app: App,
  authenticator: Authenticator,
  request: FastifyRequest,
  { allow, hasOwnCredential }: Route['spec'],
): Promise<Actor> {
  if (hasOwnCredential === true) return { kind: 'nobody' }
  const { authorization } = request.headers
  if (authorization === undefined && allow !== 'public') return authenticateSession(app, request)
  const passed = allow === 'runtime-caller' ? await findPassActor(app, authorization) : undefined
  return passed ?? authenticator.authenticate(authorization, app.clock.now(), allow)
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly actor: Actor
}

async function answer(app: App, route: Route, { request, reply, actor }: Exchange): Promise<Outcome> {
  const isRaw = Buffer.isBuffer(request.body)
  const call: Call<unknown, unknown, unknown> = {
    params: request.params,
    query: request.query,
    body: isRaw ? undefined : request.body,
    rawBody: isRaw ? (request.body as Buffer) : EMPTY,
    actor,
    headers: request.headers,
    signal: route.spec.isHeld === true ? untilGone(app, reply) : app.closing,
    reply,
    settle: async () => undefined,
  }
  const audited = auditedCall(route, request, actor)
  const run = (given: typeof call): Promise<Outcome> =>
    audited === undefined ? route.run(given) : auditCall(app, audited, () => route.run(given))
  const key = repeatKeyOf(route.spec, request)
  const isRepeater = actor.kind === 'key' || actor.kind === 'build'
  if (route.method !== 'POST' || route.spec.allow === 'public' || !isRepeater || key === undefined) return run(call)
  const repeatable = await beginRepeatable(app, actor, {
    key,
    method: route.method,
    url: request.url,
    body: isRaw ? sha256(call.rawBody) : request.body,
  })
  if (repeatable.earlier !== undefined) return repeatable.earlier
  try {
    return await run({ ...call, settle: (tx, settled) => repeatable.settle(tx, settled) })
  } catch (error) {
    return await repeatable.recover(error)
  } finally {
    repeatable.release()
  }
}

/** Calls `then` when the response is sent or the caller disconnects. Calls it at once if that has already happened, because `close` is emitted only once. */
function whenGone({ raw }: FastifyReply, then: () => void): void {
  if (raw.closed || raw.destroyed) then()
  else raw.once('close', then)
}

/** Returns a signal that is aborted when the caller disconnects or the server closes. */
function untilGone(app: App, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  whenGone(reply, () => gone.abort(GONE))
  return AbortSignal.any([gone.signal, app.closing])
}

/** Shared abort reason: creating an error with its stack for every call would cost more than the call. */
const GONE = new DOMException('the caller disconnected', 'AbortError')

function send(reply: FastifyReply, outcome: Answer): FastifyReply {
  reply.code(outcome.status)
  for (const [name, value] of Object.entries(outcome.headers ?? {}))
    reply.header(name, typeof value === 'string' ? value : [...value])
  if (outcome.body === undefined) return reply.send()
  if (typeof outcome.body === 'string' || Buffer.isBuffer(outcome.body)) return reply.send(outcome.body)
  return reply.header('content-type', 'application/json').send(JSON.stringify(outcome.body))
}

/** Routes whose calls show that engines and agents are alive. */
const LIVENESS_ROUTES = /^\/v1\/(engine|agent)\//

function sendProblem(
  app: App,
  { error, request, reply, isPage = false }: { error: unknown; request: FastifyRequest; reply: FastifyReply; isPage?: boolean },
): FastifyReply {
  const problem = toFault(error)
  const seconds = problem.details['retryAfter']
  if (problem.code === 'internal')
    app.log.error({ err: problem.cause ?? problem, requestId: request.id, url: shownUrl(request.url) }, 'bug')
  // A conflict that only the database has detected may also be a bug.
  else if (
    (problem.status >= 500 && problem.code !== 'not-supported') ||
    (problem.code === 'conflict' && problem.cause !== undefined)
  )
    app.log.warn({ err: problem, requestId: request.id }, 'call failed')
  // Failed calls of engines and agents must not count as their silence.
  if (LIVENESS_ROUTES.test(request.routeOptions.url ?? '') && isFault(problem, 'unavailable', 'storage-full')) noteBreak(app)
  if (problem.retryable && (problem.status >= 500 || problem.status === 429))
    reply.header('retry-after', typeof seconds === 'number' ? String(seconds) : '1')
  if (isPage && request.headers.accept?.includes('text/html') === true)
    return reply.code(problem.status).headers(PAGE_HEADERS).send(problemPage(problem, request.id))
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json')
    .send(JSON.stringify(toProblem(problem, request.id)))
}

/** Fastify around the route table: identity, limits, validation, problems, metrics. Nothing of the domain is here. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import type { Actor } from '../identity/actor.ts'
import { isAllowed } from '../identity/actor.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { requireScope, scopeOf } from '../identity/scopes.ts'
import { readBody, releaseBody } from './body-pool.ts'
import { openRateLimit } from './rate-limit.ts'
import { toFault, toProblem } from './problem.ts'
import { beginRepeatable } from './replies.ts'
import type { Answer, Call, Outcome, Route } from './route.ts'

export interface HttpOptions {
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | undefined
  readonly authenticator: Authenticator
  readonly routes: readonly Route[]
}

const DEFAULT_BODY_BYTES = 4_194_304
/** Idle sockets are kept a little longer than clients keep them, so that the client closes first. */
const KEEP_ALIVE_MS = 75_000

/** The server, not listening yet. */
export function openHttp(app: App, options: HttpOptions): FastifyInstance {
  const server = newServer(options)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => parseJson(String(body), done))
  server.addContentTypeParser('application/octet-stream', (request: FastifyRequest, payload: AsyncIterable<Buffer>) =>
    readBody(request, payload, request.routeOptions.bodyLimit ?? DEFAULT_BODY_BYTES),
  )
  server.addHook('onRequest', async (request, reply) => void reply.header('x-request-id', request.id))
  server.setErrorHandler((error, request, reply) => sendProblem(app, { error, request, reply }))
  server.setNotFoundHandler((request) => {
    throw fault('not-found', { message: `There is no ${request.method} ${shownUrl(request.url)}.` })
  })
  for (const route of options.routes) addRoute(app, server, options.authenticator, route)
  return server
}

function newServer({ tls }: HttpOptions): FastifyInstance {
  const common = {
    bodyLimit: DEFAULT_BODY_BYTES,
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: 120_000,
    forceCloseConnections: 'idle',
    genReqId: requestId,
    routerOptions: { maxParamLength: 500 },
  } as const
  if (tls === undefined) return fastify(common)
  const https = { cert: readFileSync(tls.certFile), key: readFileSync(tls.keyFile), minVersion: 'TLSv1.2' } as const
  return fastify({ ...common, https }) as unknown as FastifyInstance
}

const processId = randomBytes(6).toString('base64url')
let requests = 0

function requestId(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : `${processId}-${(requests += 1).toString(36)}`
}

function parseJson(text: string, done: (error: Error | null, body?: unknown) => void): void {
  if (text === '') return done(null, undefined)
  try {
    done(null, PROTOTYPE.test(text) ? JSON.parse(text, withoutPrototype) : JSON.parse(text))
  } catch (error) {
    done(fault('request-invalid', { message: 'The body is not JSON.' }, error))
  }
}

/** The word, also when it is escaped. To look at each key of every body would cost more than the parsing itself. */
const PROTOTYPE = /__proto__|\\u005f/i

function withoutPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}

function addRoute(app: App, server: FastifyInstance, authenticator: Authenticator, route: Route): void {
  const actors = new WeakMap<FastifyRequest, Actor>()
  const limit = route.spec.perMinute === undefined ? undefined : openRateLimit(app.clock, route.spec.perMinute)
  server.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(route.spec.maxBodyBytes !== undefined && { bodyLimit: route.spec.maxBodyBytes }),
    async onRequest(request) {
      limit?.take(request.ip)
      const actor = await authenticator.authenticate(request.headers.authorization, app.clock.now(), route.spec.allow)
      if (!isAllowed(actor, route.spec.allow)) throw fault(actor.kind === 'nobody' ? 'unauthenticated' : 'forbidden')
      requireScope(actor, route.spec.scope ?? scopeOf(route.method, route.path))
      actors.set(request, actor)
    },
    async handler(request, reply) {
      const started = app.clock.monotonic()
      const outcome = await answer(app, route, { request, reply, actor: actors.get(request) ?? { kind: 'nobody' } }).finally(() =>
        releaseBody(request),
      )
      if (outcome === 'stream') return reply
      measure(app, route, outcome.status, started)
      return send(reply, outcome)
    },
  })
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly actor: Actor
}

async function answer(app: App, route: Route, { request, reply, actor }: Exchange): Promise<Outcome> {
  const call: Call<unknown, unknown, unknown> = {
    params: request.params,
    query: request.query,
    body: request.body,
    actor,
    headers: request.headers,
    signal: route.spec.isHeld === true ? untilGone(app, reply) : app.closing,
    reply,
    settle: async () => undefined,
  }
  const key = request.headers['idempotency-key']
  if (route.method !== 'POST' || typeof key !== 'string' || actor.kind !== 'key') return route.run(call)
  const repeatable = await beginRepeatable(app, actor, { key, method: route.method, url: request.url, body: request.body })
  if (repeatable.earlier !== undefined) return repeatable.earlier
  try {
    const outcome = await route.run({ ...call, settle: (tx, settled) => repeatable.settle(tx, settled) })
    if (outcome !== 'stream') await repeatable.finish(outcome)
    return outcome
  } finally {
    repeatable.release()
  }
}

/** Aborted when the caller goes away or the server closes. */
function untilGone(app: App, reply: FastifyReply): AbortSignal {
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort(GONE))
  return AbortSignal.any([gone.signal, app.closing])
}

/** One for all: making an error with its stack for every call costs more than the call. */
const GONE = new DOMException('the caller went away', 'AbortError')

function send(reply: FastifyReply, outcome: Answer): FastifyReply {
  reply.code(outcome.status)
  for (const [name, value] of Object.entries(outcome.headers ?? {})) reply.header(name, value)
  if (outcome.body === undefined) return reply.send()
  if (typeof outcome.body === 'string' || Buffer.isBuffer(outcome.body)) return reply.send(outcome.body)
  return reply.header('content-type', 'application/json').send(JSON.stringify(outcome.body))
}

function measure(app: App, route: Route, status: number, started: number): void {
  if (route.spec.isHeld === true) return
  const seconds = (app.clock.monotonic() - started) / 1000
  app.metrics.requests.observe({ method: route.method, route: route.path, status: String(status) }, seconds)
}

/** Public clients put whole keys into paths. */
function shownUrl(url: string): string {
  return (url.split('?')[0] ?? '').replace(/([0-9a-f]{24})\.[\w-]{20,}/g, '$1.*****')
}

function sendProblem(
  app: App,
  { error, request, reply }: { error: unknown; request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  const problem = toFault(error)
  const seconds = problem.details['retryAfter']
  if (problem.code === 'internal')
    app.log.error({ err: problem.cause ?? problem, requestId: request.id, url: shownUrl(request.url) }, 'bug')
  else if (problem.status >= 500) app.log.warn({ err: problem, requestId: request.id }, 'call failed')
  if (problem.retryable && (problem.status === 503 || problem.status === 429))
    reply.header('retry-after', typeof seconds === 'number' ? String(seconds) : '1')
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json')
    .send(JSON.stringify(toProblem(problem, request.id)))
}

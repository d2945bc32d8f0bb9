/**
 * HTTP to the API server over kept sockets. Plain `node:https`: the official client costs 80 MB of memory (docs/adr/0006).
 * A kept socket that the server had closed meanwhile is replaced once; calls are safe to repeat because names are given by us.
 */
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { fault, isAbort } from '@windlass/kit'
import { z } from 'zod'
import type { ClusterAccess } from './config.ts'

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path with query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  /** Form of the answer, where it is not plain JSON. */
  readonly accept?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

export interface KubeAnswer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly text: string
}

export interface KubeHttp {
  /** One call. Throws `cluster-unreachable` when no answer arrives; an error status is an answer. */
  send(request: KubeRequest): Promise<KubeAnswer>
  /** Opens a stream on a socket of its own; its status is checked by the caller. */
  stream(request: KubeRequest): Promise<http.IncomingMessage>
  close(): void
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Connections for calls; more would only queue in the API server. */
const MAX_SOCKETS = 16

export function openKubeHttp(access: ClusterAccess): KubeHttp {
  const url = new URL(access.server)
  const isTls = url.protocol === 'https:'
  const tls = {
    ...(access.ca !== undefined && { ca: access.ca }),
    ...(access.clientCert !== undefined && { cert: access.clientCert, key: access.clientKey }),
    rejectUnauthorized: !access.insecure,
  }
  const settings = { keepAlive: true, keepAliveMsecs: 15_000, noDelay: true }
  const open = (maxSockets: number): http.Agent =>
    isTls ? new https.Agent({ ...settings, ...tls, maxSockets }) : new http.Agent({ ...settings, maxSockets })
  const calls = open(MAX_SOCKETS)
  const streams = open(Infinity)

  function begin(request: KubeRequest, agent: http.Agent): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    const token = access.token?.()
    const headers = {
      accept: request.accept ?? 'application/json',
      'user-agent': 'windlass',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length }),
    }
    const target = {
      method: request.method,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: (url.pathname === '/' ? '' : url.pathname) + request.path,
      headers,
      agent,
      ...(request.signal && { signal: request.signal }),
    }
    const call = isTls ? https.request(target) : http.request(target)
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS
    const timer = setTimeout(() => call.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    call.once('response', (response) => {
      clearTimeout(timer)
      resolve(response)
    })
    call.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      const stale = call.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      reject(stale ? new StaleSocketError(error.message, { cause: error }) : error)
    })
    call.end(body)
    return promise
  }

  async function reach<T>(request: KubeRequest, work: () => Promise<T>): Promise<T> {
    try {
      return await work().catch((error: unknown) => {
        if (error instanceof StaleSocketError && request.signal?.aborted !== true) return work()
        throw error
      })
    } catch (error) {
      if (isAbort(error) || request.signal?.aborted === true) throw error
      const words = error instanceof Error ? error.message : String(error)
      throw fault('cluster-unreachable', { message: `The Kubernetes API at ${access.server} does not answer: ${words}.` }, error)
    }
  }

  return {
    send: (request) =>
      reach(request, async () => {
        const response = await begin(request, calls)
        const retryAfter = Number(response.headers['retry-after'])
        return {
          status: response.statusCode ?? 0,
          retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined,
          text: await text(response),
        }
      }),
    stream: (request) => reach(request, () => begin(request, streams)),
    close() {
      calls.destroy()
      streams.destroy()
    },
  }
}

/** A kept socket was reset before any answer. */
class StaleSocketError extends Error {}

/** What the API server answers when it refuses (`kind: Status`). */
export const Status = z.looseObject({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
})

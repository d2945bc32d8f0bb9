/**
 * HTTP to the API server over kept connections. The official client needs 80 MB of memory (docs/development/adr/0006). Repeated calls are safe
 * because object names are set by the client.
 */
import type http from 'node:http'
import { text } from 'node:stream/consumers'
import { exchange, fault, openAgent, orFault, type Fault, type HttpCall } from '@windlass/kit'
import { z } from 'zod'
import type { ClusterAccess } from './config.ts'
import { connectionOf } from './connection.ts'

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path with query. */
  readonly path: string
  readonly body?: unknown
  readonly contentType?: string
  /** Media type of the answer, if it is not plain JSON. */
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
  /** Makes one call. Throws `cluster-unreachable` if no answer arrives; an answer with an error status is returned. */
  send(request: KubeRequest): Promise<KubeAnswer>
  /** Opens a stream on a separate connection; the caller checks its status. */
  stream(request: KubeRequest): Promise<http.IncomingMessage>
  close(): void
}

/** Returns the answer of a response whose body has been read. */
export function toAnswer({ statusCode = 0, headers }: http.IncomingMessage, body: string): KubeAnswer {
  const retryAfter = Number(headers['retry-after'])
  return { status: statusCode, retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : undefined, text: body }
}

const DEFAULT_TIMEOUT_MS = 30_000
/** Maximum number of connections for calls; more would only queue in the API server. */
const MAX_SOCKETS = 16

export function openKubeHttp(access: ClusterAccess): KubeHttp {
  const { tls, to, headers } = connectionOf(access)
  const calls = openAgent({ tls, maxSockets: MAX_SOCKETS })
  const streams = openAgent({ tls })

  function begin(request: KubeRequest, more: Pick<HttpCall, 'agent' | 'until'>): Promise<http.IncomingMessage> {
    const { method, path, signal, body, timeoutMs = DEFAULT_TIMEOUT_MS } = request
    return exchange({
      to: to(path),
      method,
      headers: {
        ...headers(),
        accept: request.accept ?? 'application/json',
        ...(body !== undefined && { 'content-type': request.contentType ?? 'application/json' }),
      },
      signal,
      timeoutMs,
      ...more,
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  }

  function withFault<T>({ signal }: KubeRequest, work: () => Promise<T>): Promise<T> {
    const toFault = (why: string, cause: unknown): Fault =>
      fault('cluster-unreachable', { message: `The Kubernetes API at ${access.server} does not answer: ${why}.` }, cause)
    return orFault(work, { signal, toFault })
  }

  return {
    send: (request) =>
      withFault(request, async () => {
        const response = await begin(request, { agent: calls })
        return toAnswer(response, await text(response))
      }),
    stream: (request) => withFault(request, () => begin(request, { agent: streams, until: 'headers' })),
    close() {
      calls.destroy()
      streams.destroy()
    },
  }
}

/** Body of an error response of the API server (`kind: Status`). */
export const Status = z.looseObject({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.int().optional(),
})

/** One call of the runner API of GitLab over HTTP: headers, retries, limits and the log. */
import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { urlToHttpOptions } from 'node:url'
import {
  defined,
  exchange,
  explainUnreachable,
  fault,
  hideLogin,
  orFault,
  parseJson,
  readText,
  type Clock,
  type Fault,
  type Logger,
} from '@windlass/kit'
import { CONNECT_MS, type Connections } from './connections.ts'
import { errorMessage } from './error-body.ts'
import { isRetried, retryDelayMs, TRIES } from './retry.ts'

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below the base of the API, without a leading slash. Contains no secrets. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON; bytes are sent as they are. */
  readonly body?: object | Uint8Array | undefined
  /** Statuses that mean success. Others are logged. */
  readonly expected: readonly number[]
  readonly signal?: AbortSignal | undefined
  /** Time limit of each try. Milliseconds. Default: 2 minutes. */
  readonly timeoutMs?: number
  /** Longest wait before a retry that the server can ask for. Beyond it the answer is returned. Milliseconds. Default: no limit of its own. */
  readonly maxWaitMs?: number
  /** Longest answer that is read. Bytes. Default: 1 MiB. */
  readonly maxBytes?: number
  /** True if a request whose connection closed before the answer is not sent again. */
  readonly isOnce?: boolean
}

export interface ApiAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Parsed body; undefined if it is not JSON by its type or its text. */
  readonly json: unknown
  /** True if an earlier try of the same call got an answer that is retried, so the server may have carried it out. */
  readonly isRepeated: boolean
  /** True if any answer of the call was one that is retried: the server is busy. */
  readonly isPushedBack: boolean
  /** Identifies the request in the logs of GitLab. */
  readonly correlationId: string
  /** What is wrong, in words: the status, and the message of the body. */
  readonly reason: string
}

/** What metrics count. */
export interface CallRecord {
  readonly method: string
  /** Path with `:id` instead of numbers, without query. */
  readonly endpoint: string
  /** 0: no answer. */
  readonly status: number
  readonly durationMs: number
  readonly isRetry: boolean
}

export interface CallOptions {
  readonly base: string
  readonly connections: Connections
  readonly userAgent: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal?: AbortSignal | undefined
  /** Called after each try. */
  readonly onCall?: ((record: CallRecord) => void) | undefined
}

export type Calls = (call: ApiCall) => Promise<ApiAnswer>

/** Answers about the size of the trace, which is corrected. */
const LOGGED_AS_INFO: ReadonlySet<number> = new Set([412, 416])
const TIMEOUT_MS = 2 * 60_000
const MAX_BYTES = 1024 * 1024

/**
 * Opens the calls of an API. A call resolves with the last answer, of any status. It throws `forge-unreachable` if no answer arrives, and the reason of
 * the signal if it is aborted.
 */
export function openCalls(options: CallOptions): Calls {
  const { clock, log } = options
  return async (call) => {
    const signal = eitherSignal(options.signal, call.signal)
    for (let n = 1; ; n += 1) {
      const answer = await measured(options, call, { n, signal })
      if (!call.expected.includes(answer.status)) {
        const { status, correlationId, reason } = answer
        const fields = { method: call.method, path: call.path, status, reason, correlation_id: correlationId }
        log[LOGGED_AS_INFO.has(status) ? 'info' : 'warn'](fields, 'GitLab answered with an unexpected status')
      }
      if (!isRetried(answer.status) || n >= TRIES || call.expected.includes(answer.status)) return answer
      const delayMs = retryDelayMs(answer.headers, n, clock.now())
      if (delayMs > (call.maxWaitMs ?? Number.POSITIVE_INFINITY)) return answer
      await clock.sleep(delayMs, signal)
    }
  }
}

function eitherSignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined)
  return given.length > 1 ? AbortSignal.any(given) : given[0]
}

interface Try {
  /** 1: the first try. */
  readonly n: number
  readonly signal: AbortSignal | undefined
}

async function measured(options: CallOptions, call: ApiCall, attempt: Try): Promise<ApiAnswer> {
  const { clock, onCall } = options
  const startedAt = clock.monotonic()
  let status = 0
  try {
    const answer = await once(options, call, attempt)
    status = answer.status
    return answer
  } finally {
    const endpoint = call.path.replace(/\?.*$/, '').replaceAll(/\d+/g, ':id')
    onCall?.({ method: call.method, endpoint, status, durationMs: clock.monotonic() - startedAt, isRetry: attempt.n > 1 })
  }
}

/** Makes one try of a call. */
async function once(
  { base, connections, userAgent, log }: CallOptions,
  { method, path, headers, body, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, isOnce = false }: ApiCall,
  { n, signal }: Try,
): Promise<ApiAnswer> {
  const url = new URL(path, base)
  const requestId = randomUUID().replaceAll('-', '')
  const toFault = (why: string, cause: unknown): Fault => {
    log.warn({ method, path, err: cause, correlation_id: requestId }, 'GitLab does not answer')
    const known = cause instanceof Error ? hideLogin(explainUnreachable(cause, url.href).cause) : why
    return fault('forge-unreachable', { message: `GitLab at ${url.origin} does not answer: ${known}.`, hint: HINT }, cause)
  }
  const work = async (): Promise<ApiAnswer> => {
    const isBytes = body instanceof Uint8Array
    const response = await exchange({
      to: urlToHttpOptions(url),
      agent: connections.agent(),
      method,
      headers: {
        'User-Agent': userAgent,
        'X-Request-Id': requestId,
        Accept: 'application/json',
        ...(body !== undefined && !isBytes && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...defined({ body: body === undefined || isBytes ? body : JSON.stringify(body), signal }),
      timeoutMs,
      connectMs: CONNECT_MS,
      isOnce,
    })
    const text = await readText(response, maxBytes, () => {
      response.destroy()
      return new Error(`the answer is larger than ${maxBytes} bytes`)
    })
    const { statusCode: status = 0, statusMessage = '' } = response
    const parsed = parseJson(text)
    const message = errorMessage(status, statusMessage, text, parsed)
    return {
      status,
      headers: response.headers,
      json: isJson(response.headers) ? parsed : undefined,
      isRepeated: n > 1,
      isPushedBack: n > 1 || isRetried(status),
      correlationId: single(response.headers['x-request-id']) ?? requestId,
      reason: `${status} ${statusMessage}`.trim() + (message === undefined ? '' : ` (${message})`),
    }
  }
  return orFault(work, { signal, toFault })
}

const HINT =
  'Check `url` of the runner, the network between this machine and GitLab, and for a private certificate authority `tls-ca-file`, or `certsSecretName` of the chart.'

function isJson(headers: IncomingHttpHeaders): boolean {
  return /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')
}

/** Returns the value of a header that may be repeated. */
export function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

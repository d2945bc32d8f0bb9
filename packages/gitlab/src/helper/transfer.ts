/** HTTP of the helper: one call on a connection of its own, by proxies and authorities of the environment. */
import { existsSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { urlToHttpOptions } from 'node:url'
import { defined, exchange, hasCode, openAgent, proxyOf, secureContextWith, standardProxy, type Clock } from '@windlass/kit'
import { askedDelayMs } from '../coordinator/retry.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Transfer {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Opens the body, once for each try. */
  readonly body?: () => Readable
  /** Time until the answer has its headers. Milliseconds. */
  readonly timeoutMs: number
}

/**
 * Longest wait for a connection, and number of tries. A pod can have the address of one that has just ended, and then a router may drop what it takes for a
 * packet of the old connection. Another try has another port. Milliseconds.
 */
const CONNECT_MS = 5_000
const CONNECT_TRIES = 10

/**
 * Sends a request. A connection that is not made is tried again, because the server has seen nothing then. Resolves with the answer of any status, whose body has
 * to be read or dropped. Redirects are not followed.
 */
export async function transfer(given: Transfer, env: Environment): Promise<IncomingMessage> {
  for (let n = 1; ; n += 1) {
    try {
      return await send(given, env)
    } catch (error) {
      if (!hasCode(error, 'ETIMEDOUT', 'ECONNREFUSED') || n >= CONNECT_TRIES) throw error
    }
  }
}

async function send(
  { method, url: text, headers = {}, body: open, timeoutMs }: Transfer,
  env: Environment,
): Promise<IncomingMessage> {
  const url = new URL(text)
  const proxy = standardProxy(env)
  const isProxied = proxyOf(url, proxy) !== undefined
  const agent = openAgent({
    tls: url.protocol === 'https:' ? tlsOf(env) : undefined,
    connectMs: CONNECT_MS,
    maxSockets: 1,
    ...(isProxied && { proxyEnv: { HTTP_PROXY: proxy.http, HTTPS_PROXY: proxy.https } }),
  })
  const to = urlToHttpOptions(url)
  const body = open?.()
  try {
    const call = { to, agent, method, headers, body, timeoutMs, until: 'headers', isOnce: true, connectMs: CONNECT_MS } as const
    const answer = await exchange(call)
    answer.once('close', () => agent.destroy())
    return answer
  } catch (error) {
    body?.destroy()
    agent.destroy()
    throw error
  }
}

/** The authority and the client certificate of the connection to GitLab, which the job has as variables. */
function tlsOf(env: Environment): object {
  const read = (name: string): string | undefined => {
    const file = env[name]
    return file !== undefined && file !== '' && existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((part) => read(`CI_SERVER_TLS_${part}_FILE`))
  if (ca === undefined && cert === undefined) return {}
  return { context: secureContextWith(defined({ ca, cert, key })) }
}

/** Longest answer that is shown. Bytes. */
const MAX_SHOWN = 4_096

/** Reads the start of the body, and drops the rest. */
export async function bodyText(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer) {
    // Bodies of this client are bytes.
    const bytes = chunk as Buffer
    if (size < MAX_SHOWN) chunks.push(bytes)
    size += bytes.length
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, MAX_SHOWN)
}

/** Returns status and reason of an answer: `404 Not Found`. */
export function statusOf({ statusCode = 0, statusMessage = '' }: IncomingMessage): string {
  return `${statusCode} ${statusMessage}`.trim()
}

/** Longest text of an answer in a message. Characters. */
const MAX_QUOTED = 200

/** Returns a text as a part of one line. */
export function quotedText(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, MAX_QUOTED)
}

/** How long a server that does not answer is tried again, and the longest wait that a server can ask for. Milliseconds. */
const AWAY_MS = 10 * 60_000

/** First wait before another try, and the longest one that is not asked for. Milliseconds. */
const WAIT_MS = 1_000
const MAX_WAIT_MS = 15_000

/** Tries after an answer of a server that fails, and after one of a server that has too much to do. */
const TRIES = 3
const BUSY_TRIES = 6
const BUSY: ReadonlySet<number> = new Set([408, 429, 503])

const isRefusal = (status: number): boolean => status < 500 && !BUSY.has(status)

/** An answer with another status than expected. */
export class RefusedTransfer extends Error {
  override readonly name = 'RefusedTransfer'
  readonly status: number
  readonly headers: IncomingHttpHeaders

  constructor({ statusCode = 0, headers }: Pick<IncomingMessage, 'statusCode' | 'headers'>, message: string) {
    super(message)
    this.status = statusCode
    this.headers = headers
  }
}

export interface TriesOptions {
  /** What is being done, with the name of the other side: `Uploading artifacts as "archive" to coordinator`. */
  readonly what: string
  readonly clock: Clock
  readonly say: (line: string) => void
  /** Whether the same request would get this status again. Default: those below 500, except those of a busy server. */
  readonly isFinal?: (status: number) => boolean
}

/** The tries of one transfer, from now on. */
export interface Tries {
  /** Says that a try has failed, and waits before the next one. Throws the error if it is final, or if there were enough tries. */
  failed(error: unknown): Promise<void>
}

/** Counts the tries of a transfer. A server that does not answer may restart, and is tried for ten minutes. */
export function openTries({ what, clock, say, isFinal = isRefusal }: TriesOptions): Tries {
  const began = clock.monotonic()
  let failures = 0
  let answers = 0

  function mayRepeat(error: unknown): boolean {
    if (!(error instanceof RefusedTransfer)) return clock.monotonic() - began < AWAY_MS
    return !isFinal(error.status) && answers < (BUSY.has(error.status) ? BUSY_TRIES : TRIES)
  }

  return {
    async failed(error) {
      failures += 1
      if (error instanceof RefusedTransfer) answers += 1
      if (!mayRepeat(error)) throw error
      say(`WARNING: ${what}... ${error instanceof Error ? error.message : String(error)}; trying again`)
      const asked = error instanceof RefusedTransfer ? askedDelayMs(error.headers, clock.now()) : undefined
      await clock.sleep(Math.min(asked ?? Math.min(WAIT_MS * failures, MAX_WAIT_MS), AWAY_MS))
    },
  }
}

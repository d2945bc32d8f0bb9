/** HTTP of the helper: one call on a connection of its own, by proxies and authorities of the environment. */
import { existsSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { urlToHttpOptions } from 'node:url'
import { exchange, openAgent, proxyOf, secureContextWith, standardProxy } from '@windlass/kit'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Transfer {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readable
  /** Time until the answer has its headers. Milliseconds. */
  readonly timeoutMs: number
}

const CONNECT_MS = 30_000

/** Sends a request. Resolves with the answer of any status, whose body has to be read or dropped. Redirects are not followed. */
export async function transfer(
  { method, url: text, headers = {}, body, timeoutMs }: Transfer,
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
  const answer = await exchange({
    to,
    agent,
    method,
    headers,
    body,
    timeoutMs,
    until: 'headers',
    isOnce: true,
    connectMs: CONNECT_MS,
  })
  answer.once('close', () => agent.destroy())
  return answer
}

/** The authority and the client certificate of the connection to GitLab, which the job has as variables. */
function tlsOf(env: Environment): object {
  const read = (name: string): string | undefined => {
    const file = env[name]
    return file !== undefined && file !== '' && existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
  const [ca, cert, key] = ['CA', 'CERT', 'KEY'].map((part) => read(`CI_SERVER_TLS_${part}_FILE`))
  if (ca === undefined && cert === undefined) return {}
  return {
    context: secureContextWith({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    }),
  }
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

/** An answer with another status than expected. */
export class RefusedTransfer extends Error {
  override readonly name = 'RefusedTransfer'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

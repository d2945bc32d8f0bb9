/** The server and key that a command uses. */
import { nodeTransport, retry, systemClock, type Clock } from '@windlass/kit'
import { fault, isFault, type Fault } from '@windlass/kit/faults'
import { withRoutes, type ApiClient } from '@windlass/client'
import { createClient, type Client } from '@windlass/protocol'
import { currentContext, readConfigFile } from './config-file.ts'
import type { Settings } from '../config.ts'

export interface Session {
  readonly client: ApiClient
  /** Name of the context; undefined if the environment names the server. */
  readonly context: string | undefined
  readonly url: string
  /** Server URL for components in a cluster, set by `withClusterUrl`. */
  readonly clusterUrl?: string
  readonly token: string | undefined
  /** PEM file of the server's private certificate authority. */
  readonly caFile: string | undefined
}

/** Opens the server named by the environment or the current context. Throws `server-unreachable` if neither names one. */
export function openSession(settings: Settings): Session {
  const context = settings.url !== undefined ? undefined : currentContext(readConfigFile(settings.configFile))
  const url = settings.url ?? context?.url
  if (url === undefined)
    throw fault('server-unreachable', {
      message: 'No server is configured.',
      hint: 'Start one with `windlass up`, log in with `windlass auth login`, or run without a server: `windlass run --local -f FILE`.',
    })
  const token = settings.apiKey ?? context?.apiKey
  const caFile = settings.caFile ?? context?.caFile
  return {
    client: openRetryingClient({ url, token, caFile }),
    context: context?.name,
    url,
    token,
    caFile,
  }
}

export interface ServerAccess {
  readonly url: string
  readonly token?: string | undefined
  /** PEM file of the server's private certificate authority. */
  readonly caFile?: string | undefined
}

/** How long a connection may take to open, also while the address drops packets. Milliseconds. */
const CONNECT_MS = 10_000

/** Opens a client that retries calls like `withRetries`. */
export function openRetryingClient({ url, token, caFile }: ServerAccess): ApiClient {
  return withRoutes(withRetries(createClient({ url, token, transport: nodeTransport({ caFile, connectMs: CONNECT_MS }) })))
}

/** Longest `retry-after` that is waited out without telling the user. Seconds. */
const SHORT_WAIT_S = 2
const WAIT = { baseMs: 500, maxMs: 1_000, tries: 10 }

/** How long a call that creates something is repeated while no answer of the server arrives. Milliseconds. */
const REPEAT_MS = 10_000
const REPEAT = { baseMs: 500, maxMs: 1_000 }

/**
 * Retries calls that the server rejected as rate-limited, because it has not processed them, and calls with an idempotency key that got no answer,
 * because the server processes them once. Otherwise users would repeat a command whose first run had an effect.
 */
export function withRetries(client: Client, clock: Clock = systemClock): Client {
  return {
    ...client,
    call(method, path, reply, options) {
      const until = clock.monotonic() + REPEAT_MS
      const limited = { ...WAIT, clock, signal: options?.signal, retryIf: isLimitedShortly }
      const callLimited = () => retry(limited, () => client.call(method, path, reply, options))
      if (options?.headers?.['idempotency-key'] === undefined) return callLimited()
      const retryIf = (error: unknown): boolean =>
        isFault(error, 'server-unreachable', 'unavailable', 'proxy-answered') && clock.monotonic() + retryAfterMs(error) < until
      return retry({ ...REPEAT, clock, signal: options.signal, retryIf }, callLimited)
    },
    withToken: (token) => withRetries(client.withToken(token), clock),
  }
}

function isLimitedShortly(error: unknown): boolean {
  return isFault(error, 'rate-limited') && Number(error.details['retryAfter'] ?? Infinity) <= SHORT_WAIT_S
}

function retryAfterMs({ details }: Fault): number {
  return 1000 * Number(details['retryAfter'] ?? 0)
}

/** Returns true if the server did not answer: it cannot be reached, or a proxy answered instead of it. */
export function isOutage(error: unknown): error is Fault {
  return (
    isFault(error, 'server-unreachable', 'proxy-answered') || (isFault(error, 'unavailable') && error.details.foreign === true)
  )
}

/** Resolves to undefined instead of `not-found`. */
export async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (!isFault(error, 'not-found')) throw error
    return undefined
  }
}

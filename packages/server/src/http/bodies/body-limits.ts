/**
 * Limits of request bodies, which are in memory before a handler runs: bytes and calls at once of a caller, bytes of all callers, and the time in which a
 * body must arrive.
 */
import type { FastifyRequest } from 'fastify'
import type { Clock } from '@windlass/kit'
import { Callers } from '../../documents/caller-limits.ts'
import type { DocumentPool } from '../../documents/document-pool.ts'
import type { Route } from '../route.ts'

/** Default body limit. A call that starts a build may contain a document and variables of 1 MiB each. */
export const DEFAULT_BODY_BYTES = 4_194_304
/** Body limit of calls without a credential, and of routes that read no body. */
const SMALL_BODY_BYTES = 4_096
/** Maximum body bytes of concurrent calls of all callers, without documents and without routes that have limits of their own. */
const BODIES_AT_ONCE_BYTES = 67_108_864
/** The same for calls without a credential, which are limited by their address. */
const STRANGERS_AT_ONCE_BYTES = 33_554_432
/** Maximum body bytes of concurrent calls of a route with a limit of calls. */
const ROUTE_AT_ONCE_BYTES = 268_435_456
/** Time in which any body must arrive, and the rate at which the rest of a large one must arrive. Milliseconds, bytes. */
const BODY_MS = 20_000
const MIN_BYTES_PER_MS = 64

/** Admits the body of a call before it is read. Returns a function that ends the call, or undefined if no limit applies. Throws `rate-limited`. */
export type Admit = (caller: string, request: FastifyRequest) => (() => void) | undefined

interface Deps {
  readonly clock: Clock
  readonly documentPool: DocumentPool
}

/** Returns the body limit of a route. Bytes. */
export function bodyLimitOf({ maxBodyBytes, allow, body, rawBody }: Route['spec']): number {
  if (maxBodyBytes !== undefined) return maxBodyBytes
  return allow === 'public' || (body ?? rawBody) === undefined ? SMALL_BODY_BYTES : DEFAULT_BODY_BYTES
}

/** Opens the limits that all routes share. Returns a function that creates those of a route. `bodyMs` is the time in which any body must arrive. */
export function openBodyLimits({ clock, documentPool }: Deps, bodyMs = BODY_MS): (spec: Route['spec']) => Admit {
  const noLimit = { callsAtOnce: Number.POSITIVE_INFINITY, msPerMinute: Number.POSITIVE_INFINITY }
  const bodies = new Callers(clock, { ...noLimit, bytesAtOnce: BODIES_AT_ONCE_BYTES }, 'calls with a body')
  const strangers = new Callers(clock, { ...noLimit, bytesAtOnce: STRANGERS_AT_ONCE_BYTES }, 'calls without a credential')
  return ({ allow, readsDocument, callsAtOnce }) => {
    const limits = { ...noLimit, callsAtOnce: callsAtOnce ?? 0, bytesAtOnce: ROUTE_AT_ONCE_BYTES }
    const own = callsAtOnce === undefined ? undefined : new Callers(clock, limits, 'calls of this route')
    return (caller, request) => {
      const bytes = sizeOf(request)
      const isStranger = allow === 'public'
      const shared = isStranger ? strangers : bodies
      const callers = readsDocument === true ? documentPool : (own ?? (bytes > 0 ? shared : undefined))
      const leave = callers?.enter(isStranger ? request.ip : caller, bytes)
      if (bytes > 0) endIfSlow(request, bodyMs + bytes / MIN_BYTES_PER_MS)
      return leave
    }
  }
}

/**
 * Returns the largest possible size of the body. A body without an announced size counts as large. A request without a body, or with one that is not
 * read, counts as empty. Bytes.
 */
function sizeOf({ method, headers, routeOptions }: FastifyRequest): number {
  const { bodyLimit } = routeOptions
  if (method === 'GET') return 0
  if (headers['transfer-encoding'] !== undefined) return bodyLimit
  const length = Number(headers['content-length'] ?? 0)
  return Number.isSafeInteger(length) ? Math.min(length, bodyLimit) : bodyLimit
}

/** Closes the connection if the body has not arrived in time. */
function endIfSlow({ raw }: FastifyRequest, ms: number): void {
  const timer = setTimeout(() => raw.destroy(), ms).unref()
  // Emitted when the body has been read, too.
  raw.once('close', () => clearTimeout(timer))
}

/** Routes of an app-proxy as data: method, path, the right that they need, shapes, and handler. */
import { fault, type Problem } from '@windlass/kit'
import type { GitopsRight } from '@windlass/protocol'
import { z } from 'zod'
import type { Caller } from '../access/caller.ts'
import type { Slots } from './slots.ts'

/** Default of the path below which the routes are. Routers and ingress controllers pass it on unchanged. */
export const PATH_PREFIX = '/app-proxy'

export interface Call<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly caller: Caller
  /** The key of the caller, for calls of the control plane only. */
  readonly key: string
  /** Checks again that the caller has the right. Throws like the first check. For an effect that comes long after it. */
  readonly confirm: () => Promise<void>
  /** Returns a header of the call by its name in small letters. */
  readonly header: (name: string) => string | undefined
  /** Carries out another route for the same caller, with its rights and limits. */
  readonly callRoute: (route: Route, given: Given) => Promise<object | undefined>
  /** Aborted when the caller disconnects or the app-proxy closes. */
  readonly signal: AbortSignal
}

/** The input of a call. */
export type Given = Pick<Call<unknown, unknown, unknown>, 'params' | 'query' | 'body'>

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly right: GitopsRight
  /** True if the call changes something, which a key that may only read must not. */
  readonly isWrite?: true
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** Default: 64 KiB. */
  readonly maxBodyBytes?: number
  /** Limits the calls in progress, before their bodies are read. */
  readonly slots?: Slots
  /** Returns the status of an answer. Default: 200, or 204 for an empty one. */
  readonly statusOf?: (answer: object) => number
  /** Returns the body of the answer; undefined for an empty one. A stream is sent as events (SSE). */
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<object | undefined>
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below the prefix and `/api`, with parameters in braces. */
  readonly path: string
  readonly right: GitopsRight
  readonly isWrite: boolean
  readonly maxBodyBytes: number
  readonly slots: Slots | undefined
  readonly statusOf: ((answer: object) => number) | undefined
  readonly run: (call: Call<unknown, unknown, unknown>) => Promise<object | undefined>
}

const Nothing = z.unknown()
const DEFAULT_BODY_BYTES = 65_536

/** Creates a route: `route('GET', '/version', { right, handle })`. */
export function route<
  P extends z.ZodType = typeof Nothing,
  Q extends z.ZodType = typeof Nothing,
  B extends z.ZodType = typeof Nothing,
>(
  method: Route['method'],
  path: string,
  { right, isWrite, maxBodyBytes = DEFAULT_BODY_BYTES, slots, statusOf, params, query, body, handle }: RouteSpec<P, Q, B>,
): Route {
  return {
    method,
    path,
    right,
    isWrite: isWrite === true,
    maxBodyBytes,
    slots,
    statusOf,
    run: async (call) =>
      handle({
        ...call,
        params: requireShape(params, call.params),
        query: requireShape(query, call.query),
        body: requireShape(body, call.body),
      }),
  }
}

/** Returns the value in the form of the schema. Throws `request-invalid` with the fields that do not match it. */
function requireShape<S extends z.ZodType>(schema: S | undefined, value: unknown): z.output<S> {
  const parsed = (schema ?? Nothing).safeParse(value)
  // Without a schema the value is not used, and its type is unknown.
  if (parsed.success) return parsed.data as z.output<S>
  const problems = parsed.error.issues.map(({ path, message }): Problem => ({ path: path.join('.'), message }))
  const first = problems[0]
  const where = first?.path === undefined || first.path === '' ? '' : `${first.path}: `
  throw fault('request-invalid', { message: `${where}${first?.message ?? 'the request is invalid'}`, problems })
}

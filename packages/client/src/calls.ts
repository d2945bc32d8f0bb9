/** Typed methods of routes: path parameters in order, then the body if there is one, then options. */
import type { CallOptions, Client, ServerSentEvent } from '@windlass/protocol'
import type { z } from 'zod'
import { countParams, fillPath, type Params, type Route } from './route.ts'

/** One method for each route, e.g. `get(id, options)`, `create(body, options)`. Methods throw the fault of the server, or `server-unreachable`. */
export type Calls<T extends Readonly<Record<string, Route>>> = { readonly [K in keyof T]: Call<T[K]> }

/** The method of a route. */
export type Call<R extends Route> = (...given: [...Params<R>, ...Body<R>, ...Options<R>]) => Result<R>

/** Options of every method. */
export interface CommonOptions extends Omit<CallOptions, 'query' | 'body'> {
  /** Idempotency key of the call. Default: a random one for routes with `isKeyed`, otherwise none. False sends none. */
  readonly idempotencyKey?: string | false | undefined
}

type Body<R extends Route> = R extends { readonly body: 'bytes' }
  ? [body: Uint8Array]
  : R extends { readonly body: infer S extends z.ZodType }
    ? Partial<z.input<S>> extends z.input<S>
      ? [body?: ReadOnly<z.input<S>>]
      : [body: ReadOnly<z.input<S>>]
    : []

type ReadOnly<T> = T extends object ? { readonly [K in keyof T]: ReadOnly<T[K]> } : T

type Options<R extends Route> = R extends { readonly query: infer S extends z.ZodObject }
  ? Partial<Query<S>> extends Query<S>
    ? [options?: CommonOptions & { readonly query?: Query<S> }]
    : [options: CommonOptions & { readonly query: Query<S> }]
  : [options?: CommonOptions]

type Scalar = string | number | boolean
type Query<S extends z.ZodObject> = {
  readonly [K in keyof z.input<S>]: QueryValue<z.input<S>[K], K extends keyof z.output<S> ? z.output<S>[K] : never>
}
/** A value as it is written in a URL, or as the server reads it. */
type QueryValue<I, O> = (unknown extends I ? never : I) | Extract<O, Scalar> | undefined

type Result<R extends Route> = R extends { readonly answer: infer A }
  ? A extends z.ZodType
    ? Promise<z.output<A>>
    : A extends 'events'
      ? AsyncGenerator<ServerSentEvent>
      : A extends 'bytes'
        ? Promise<AsyncIterable<Uint8Array>>
        : A extends 'text'
          ? Promise<string>
          : Promise<void>
  : never

/** Returns the schema with which a client reads the answers of a route. */
export type Reader = (answer: z.ZodType) => z.ZodType

/** Returns the methods of routes on a client. Answers must match the schema of their route, or what `reader` makes of it. */
export function bindCalls<T extends Readonly<Record<string, Route>>>(
  client: Client,
  routes: T,
  reader: Reader = (answer) => answer,
): Calls<T> {
  const calls = Object.entries(routes).map(([name, route]) => [
    name,
    (...given: unknown[]) => send(client, { route, reader }, given),
  ])
  return Object.fromEntries(calls) as Calls<T>
}

interface Bound {
  readonly route: Route
  readonly reader: Reader
}

function send(client: Client, { route, reader }: Bound, given: readonly unknown[]): unknown {
  if (route.answer !== 'events') return sendOne(client, { route, reader }, given)
  const { path, options } = readGiven(route, given)
  return client.events(path, options)
}

async function sendOne(client: Client, { route, reader }: Bound, given: readonly unknown[]): Promise<unknown> {
  const { method, answer } = route
  const { path, options } = readGiven(route, given)
  if (answer === 'bytes') return client.bytes(path, options, method)
  if (typeof answer !== 'string') return client.call(method, path, reader(answer), options)
  const text = await client.text(method, path, options)
  return answer === 'text' ? text : undefined
}

function readGiven(route: Route, given: readonly unknown[]): { readonly path: string; readonly options: CallOptions } {
  const count = countParams(route.path)
  const [body, options] = route.body === undefined ? [undefined, given[count]] : [given[count] ?? {}, given[count + 1]]
  const path = fillPath(route.path, given.slice(0, count))
  return { path, options: toCallOptions(route, body, (options ?? {}) as CommonOptions) }
}

function toCallOptions(route: Route, body: unknown, { idempotencyKey, ...options }: CommonOptions): CallOptions {
  const key = idempotencyKey ?? (route.isKeyed === true && newKey())
  const headers = key === false ? options.headers : { 'idempotency-key': key, ...options.headers }
  return { ...options, body, headers }
}

/** Returns a random key. `crypto.randomUUID` does not exist in pages that are served without TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Routes of the server as callers see them: method, path, and what goes in and out. */
import { fault } from '@windlass/kit/faults'
import type { Method } from '@windlass/protocol'
import type { z } from 'zod'

/**
 * What a call returns: a validated JSON value, nothing, text, a stream of bytes, or the events of an SSE stream. A route of text can also be read
 * as bytes.
 */
export type Answer = z.ZodType | 'nothing' | 'text' | 'bytes' | 'events'

export interface RouteShape {
  /** Schemas of path parameters that do not take any text. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  /** Schema of the JSON body, or `bytes`. Absent if there is no body. */
  readonly body?: z.ZodType | 'bytes'
  readonly answer: Answer
  /** The call sends an idempotency key, so that repeating it after a lost response does not create a second resource. */
  readonly isKeyed?: true
}

export interface Route extends RouteShape {
  readonly method: Method
  /** With parameters in braces: `/v1/builds/{id}`. */
  readonly path: string
}

/** Creates a route: `route('GET', '/v1/builds/{id}', { answer: Build })`. */
export function route<const M extends Method, const P extends string, const S extends RouteShape>(
  method: M,
  path: P,
  shape: S,
): S & { readonly method: M; readonly path: P } {
  return { ...shape, method, path }
}

/** The path parameters of a route, in order. */
export type Params<R extends Route> = ParamsOf<R, Names<R['path']>>

type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? [Name, ...Names<Rest>] : []
type ParamsOf<R extends Route, N extends readonly unknown[]> = { [I in keyof N]: Param<R, N[I]> }
type Param<R extends Route, Name> = R extends { readonly params: infer S extends z.ZodObject }
  ? Name extends keyof z.input<S>
    ? z.input<S>[Name]
    : string | number
  : string | number

/** Returns the path of a call, with its parameters encoded. Throws `request-invalid` for `.` and `..`. */
export function pathOf<R extends Route>({ path }: R, ...params: Params<R>): string {
  return fillPath(path, params)
}

/** Replaces the parameters of a path, in order. Throws like `pathOf`. */
export function fillPath(path: string, params: readonly unknown[]): string {
  let index = 0
  return path.replaceAll(/\{\w+\}/g, () => encodeParam(String(params[index++])))
}

/** URLs drop `.` and `..`, even if encoded, so the call would reach another route. */
function encodeParam(text: string): string {
  if (text === '.' || text === '..')
    throw fault('request-invalid', { message: `"${text}" is not a name or an id.`, hint: 'Use the name or id of a resource.' })
  return encodeURIComponent(text)
}

/** Returns the number of parameters of a path. */
export function countParams(path: string): number {
  return path.split('{').length - 1
}

/** Returns true if a request with this method and URL is a call of the route. */
export function isCallOf({ method, path }: Route, request: { readonly method: string; readonly url: string }): boolean {
  const pattern = path.split(/\{\w+\}/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
  return request.method === method && new RegExp(`${pattern.join('[^/]+')}$`).test(request.url.split('?')[0] ?? '')
}

/**
 * A route is data: method, path, shapes, permission, and what it calls. Validation, OpenAPI and the permission test all read the same table.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { fault, type Problem } from '@windlass/kit'
import type { Method, Scope } from '@windlass/protocol'
import { z } from 'zod'
import type { Actor, Permission } from '../identity/actor.ts'
import type { Tx } from '../store/store.ts'

/** What a handler gets: everything validated. */
export interface Call<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly actor: Actor
  readonly headers: IncomingHttpHeaders
  /** Aborted when the caller went away or the server closes. */
  readonly signal: AbortSignal
  /** For answers that are written piece by piece. */
  readonly reply: FastifyReply
  /** Notes the answer of a call with an Idempotency-Key in the transaction of its effect; nothing without a key. */
  readonly settle: (tx: Tx, answer: Answer) => Promise<void>
}

export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** `stream`: the handler wrote the answer itself. */
export type Outcome = Answer | 'stream'

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly summary: string
  readonly allow: Permission
  /** What keys that are limited to scopes need; made of method and path when absent. */
  readonly scope?: Scope
  readonly params?: P
  readonly query?: Q
  /** Absent: no body. `bytes` bodies are not JSON. */
  readonly body?: B
  readonly takesBytes?: true
  readonly maxBodyBytes?: number
  /** Shape of each answer by status; `text` is not JSON and is not checked. */
  readonly replies: Readonly<Record<number, z.ZodType | 'text' | 'nothing'>>
  /** Held open on purpose: not counted in the duration of calls. */
  readonly isHeld?: true
  /** Calls per minute and address. */
  readonly perMinute?: number
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Outcome>
}

/** A route whose shapes are checked inside. */
export interface Route {
  readonly method: Method
  /** With parameters in braces: `/v1/builds/{id}`. */
  readonly path: string
  readonly spec: Omit<RouteSpec<z.ZodType, z.ZodType, z.ZodType>, 'handle'>
  /** Validates, calls, validates the answer. */
  readonly run: (call: Call<unknown, unknown, unknown>) => Promise<Outcome>
}

const Nothing = z.unknown()

/** Makes a route: `route('GET', '/v1/builds/{id}', { summary, allow, params, replies, handle })`. */
export function route<
  P extends z.ZodType = typeof Nothing,
  Q extends z.ZodType = typeof Nothing,
  B extends z.ZodType = typeof Nothing,
>(method: Method, path: string, spec: RouteSpec<P, Q, B>): Route {
  return {
    method,
    path,
    spec,
    async run(call) {
      const outcome = await spec.handle({
        ...call,
        params: check(spec.params, call.params, ''),
        query: check(spec.query, call.query, ''),
        body: spec.takesBytes === true ? (call.body as z.output<B>) : check(spec.body, call.body ?? {}, ''),
      })
      return outcome === 'stream' ? outcome : checkAnswer(`${method} ${path}`, spec.replies, outcome)
    },
  }
}

function check<S extends z.ZodType>(schema: S | undefined, value: unknown, prefix: string): z.output<S> {
  const parsed = (schema ?? Nothing).safeParse(value)
  if (parsed.success) return parsed.data as z.output<S>
  const problems = parsed.error.issues.map(({ path, message }): Problem => ({ path: prefix + path.join('.'), message }))
  const first = problems[0]
  const where = first?.path === '' || first?.path === undefined ? '' : `${first.path}: `
  throw fault('request-invalid', { message: `${where}${first?.message ?? 'the request is wrong'}`, problems })
}

/** An answer of another shape than documented is a bug of ours, told as one. */
function checkAnswer(name: string, replies: RouteSpec<z.ZodType, z.ZodType, z.ZodType>['replies'], answer: Answer): Answer {
  const schema = replies[answer.status]
  if (schema === undefined) throw new Error(`${name} answered ${answer.status}, which it does not document`)
  if (schema === 'text' || schema === 'nothing') return answer
  const parsed = schema.safeParse(answer.body)
  if (!parsed.success) throw new Error(`${name} answered another shape than it documents: ${parsed.error.message}`)
  return { ...answer, body: parsed.data }
}

export function ok(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return { status: 200, body, ...(headers !== undefined && { headers }) }
}

export function created(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return { status: 201, body, ...(headers !== undefined && { headers }) }
}

export const done: Answer = { status: 204 }

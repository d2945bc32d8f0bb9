/**
 * Routes as data: method, path, shapes, permission, and handler. Validation, OpenAPI and the permission test all read the same table.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import { defined, fault, type Problem } from '@windlass/kit'
import type { Method, Scope } from '@windlass/protocol'
import { z } from 'zod'
import type { Actor, Permission } from '../identity/actor.ts'
import type { ProjectSource } from '../identity/place-of.ts'
import type { Tx } from '../store/store.ts'

/** The validated input of a handler. */
export interface Call<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  /** Bytes of the body of a route with `rawBody`, otherwise empty. Valid until the handler ends, because the memory is reused. */
  readonly rawBody: Buffer
  readonly actor: Actor
  readonly headers: IncomingHttpHeaders
  /** Aborted when the caller disconnects or the server closes. */
  readonly signal: AbortSignal
  /** For responses that are written piece by piece. */
  readonly reply: FastifyReply
  /** Stores the response of a call with an Idempotency-Key in the transaction of its effect. Does nothing without a key. */
  readonly settle: (tx: Tx, answer: Answer) => Promise<void>
}

export interface Answer {
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
}

/** `stream` means that the handler wrote the response itself. */
export type Outcome = Answer | 'stream'

export interface RouteSpec<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType> {
  readonly summary: string
  readonly allow: Permission
  /** Scope that limited keys need. `none`: a key needs no scope, or no key may call the route. */
  readonly scope: Scope | 'none'
  /** How the project of the call is found. Absent: roles in projects do not count for this route. */
  readonly project?: ProjectSource
  /** The handler checks the credential, which is not one of this server. The header Authorization is left to it, and callers count as nobody. */
  readonly hasOwnCredential?: true
  /** Why the audit log does not have this call although it changes something. */
  readonly unaudited?: string
  /** A GET of a foreign API that changes something, so the audit log has it. */
  readonly hasEffect?: true
  readonly params?: P
  readonly query?: Q
  /** Shape of a JSON body. Absent if there is no body, or a raw one. */
  readonly body?: B
  /** Media types of a body that the handler gets as it was sent, for example to verify a signature. No other types are accepted. */
  readonly rawBody?: readonly [string, ...string[]]
  /** Body limit. Default: 4 MiB, or 4 KiB without a body in the table and for public routes. */
  readonly maxBodyBytes?: number
  /** Maximum number of concurrent calls of one caller. Further ones are refused before their body is read. */
  readonly callsAtOnce?: number
  /** Shape of each response by status. `text` is not JSON and is not validated. */
  readonly replies: Readonly<Record<number, z.ZodType | 'text' | 'nothing'>>
  /** Browsers open the route as a page, so its problems are pages for callers that accept HTML. */
  readonly isPage?: true
  /** The call may be held open. Its duration is not measured. */
  readonly isHeld?: true
  /** The call reads a document of the caller. Number and cost of such calls are limited (`documents/caller-limits.ts`). */
  readonly readsDocument?: true
  /** Query parameter that has the role of the header Idempotency-Key: clients that cannot send the header put the same value into each repeated call. */
  readonly repeatKey?: string
  /** Maximum number of calls with a wrong credential per minute and address. Web pages of another origin cannot call the route. */
  readonly perMinute?: number
  readonly handle: (call: Call<z.output<P>, z.output<Q>, z.output<B>>) => Promise<Outcome>
}

/** A route that validates its input and output. */
export interface Route {
  readonly method: Method
  /** With parameters in braces: `/v1/builds/{id}`. */
  readonly path: string
  readonly spec: Omit<RouteSpec<z.ZodType, z.ZodType, z.ZodType>, 'handle'>
  /** Validates the input, calls the handler, validates the response. */
  readonly run: (call: Call<unknown, unknown, unknown>) => Promise<Outcome>
}

const Nothing = z.unknown()

/** Creates a route: `route('GET', '/v1/builds/{id}', { summary, allow, scope, params, replies, handle })`. */
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
      const name = `${method} ${path}`
      const outcome = await spec.handle({
        ...call,
        settle: (tx, answer) => call.settle(tx, checkAnswer(name, spec.replies, answer)),
        params: requireShape(spec.params, call.params),
        query: requireShape(spec.query, call.query),
        body: requireShape(spec.body, call.body ?? {}),
      })
      return outcome === 'stream' ? outcome : checkAnswer(name, spec.replies, outcome)
    },
  }
}

/** Returns the value in the form of the schema. Throws `request-invalid` with the fields that do not match it. */
export function requireShape<S extends z.ZodType>(schema: S | undefined, value: unknown): z.output<S> {
  const parsed = (schema ?? Nothing).safeParse(value)
  if (parsed.success) return parsed.data as z.output<S>
  const problems = parsed.error.issues.map(({ path, message }): Problem => ({ path: path.join('.'), message }))
  const first = problems[0]
  const where = first?.path === '' || first?.path === undefined ? '' : `${first.path}: `
  throw fault('request-invalid', { message: `${where}${first?.message ?? 'the request is invalid'}`, problems })
}

/** Validates a response. Throws an internal error if it does not match the documented shape. */
function checkAnswer(name: string, replies: RouteSpec<z.ZodType, z.ZodType, z.ZodType>['replies'], answer: Answer): Answer {
  const schema = replies[answer.status]
  if (schema === undefined) throw new Error(`${name} returned the undocumented status ${answer.status}`)
  if (schema === 'text' || schema === 'nothing') return answer
  const parsed = schema.safeParse(answer.body)
  if (!parsed.success) throw new Error(`${name} returned a body that does not match its schema: ${parsed.error.message}`)
  return { ...answer, body: parsed.data }
}

export function ok(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return { status: 200, body, ...defined({ headers }) }
}

export function created(body: unknown, headers?: Readonly<Record<string, string>>): Answer {
  return { status: 201, body, ...defined({ headers }) }
}

export const done: Answer = { status: 204 }

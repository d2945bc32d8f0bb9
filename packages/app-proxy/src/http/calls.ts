/** Carries out the calls of routes: who may make them, their records in the audit log, and the routes that a route calls itself. */
import type { FastifyRequest } from 'fastify'
import { isFault, type Logger } from '@windlass/kit'
import type { Access } from '../access/access.ts'
import { requireRight, requireWriting, tokenOf, type Caller } from '../access/caller.ts'
import type { Audit, AuditedCall } from '../audit/audit.ts'
import type { Given, Route } from './route.ts'

/** Lengths that the control plane takes. */
const MAX_PATH = 1_000
const MAX_CLIENT = 300

/** A route that is called, with the path of the call. */
export interface Asked {
  readonly route: Route
  readonly path: string
}

export interface Calls {
  /** Throws unless the caller has the right. The audit log has the refusal of a change. */
  enter(request: FastifyRequest, asked: Asked): Promise<void>
  /** Carries out a call that has its place among the concurrent ones. Returns the body of the answer. */
  run(request: FastifyRequest, asked: Asked, given: Given & { readonly signal: AbortSignal }): Promise<object | undefined>
}

export interface CallsOptions {
  readonly access: Access
  readonly audit: Audit
  /** Path below which all routes are. */
  readonly base: string
  readonly log: Logger
}

export function openCalls({ access, audit, base, log }: CallsOptions): Calls {
  async function admit({ headers }: FastifyRequest, { right, isWrite }: Route): Promise<Caller> {
    const caller = await access.callerOf(tokenOf(headers))
    if (isWrite) requireWriting(caller)
    requireRight(caller, right)
    return caller
  }

  async function enter(request: FastifyRequest, asked: Asked): Promise<Caller> {
    try {
      return await admit(request, asked.route)
    } catch (error) {
      if (asked.route.isWrite && isFault(error, 'forbidden', 'scope-missing'))
        await audit.refused(tokenOf(request.headers) ?? '', auditedCall(request, asked))
      throw error
    }
  }

  function auditedCall({ headers, id }: FastifyRequest, { route: { method, path, right }, path: called }: Asked): AuditedCall {
    return {
      right,
      action: `${method} ${base}${path}`,
      path: called.slice(0, MAX_PATH),
      requestId: id,
      client: headers['user-agent']?.slice(0, MAX_CLIENT),
    }
  }

  const calls: Calls = {
    enter: async (request, asked) => void (await enter(request, asked)),
    async run(request, asked, given) {
      const { method, path, isWrite, run } = asked.route
      // Again: the place for the call and its body may have come minutes later.
      const caller = await enter(request, asked)
      const key = tokenOf(request.headers) ?? ''
      const call = {
        ...given,
        caller,
        key,
        confirm: async (): Promise<void> => void (await admit(request, asked.route)),
        header(name: string): string | undefined {
          const value = request.headers[name]
          return typeof value === 'string' ? value : undefined
        },
        async callRoute(route: Route, inner: Given): Promise<object | undefined> {
          const other = { route, path: base + pathOf(route, inner.params) }
          await enter(request, other)
          const leave = await route.slots?.enter()
          try {
            return await calls.run(request, other, { ...inner, signal: given.signal })
          } finally {
            leave?.()
          }
        },
      }
      const answer = await (isWrite ? audit.run(key, auditedCall(request, asked), () => run(call)) : run(call))
      if (isWrite)
        log.info({ user: caller.userId, action: `${method} ${path}`, params: given.params, requestId: request.id }, 'change')
      return answer
    },
  }
  return calls
}

function pathOf({ path }: Route, params: unknown): string {
  const values = new Map(Object.entries(params ?? {}))
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))))
}

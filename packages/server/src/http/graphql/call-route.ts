/**
 * Fields of the schema call the routes of `/v1`: with the rights and scopes of the route, its checks of the input, and its record in the audit log. So nothing can be done by GraphQL that the same
 * caller may not do without it.
 */
import type { Method } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { auditCall, recordFailure } from '../../audit/record.ts'
import { authorize } from '../../identity/authorize.ts'
import { auditedCall } from '../audited-call.ts'
import type { Call, Route } from '../route.ts'

/** The call of the route of GraphQL. */
export type OuterCall = Call<unknown, unknown, unknown>

interface Given<S extends z.ZodType> {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: object
  /** What is read of the answer. */
  readonly answer: S
}

export type RouteName = `${Method} /v1/${string}`

/** Carries out a call of a route, such as `GET /v1/applications`. Throws what the route throws. */
export type CallRoute = <S extends z.ZodType>(name: RouteName, given: Given<S>) => Promise<z.output<S>>

/** Throws `forbidden` or `scope-missing` if the caller may not call a route. Fields that read less than the route shows ask for its right. */
export type RequireRoute = (name: RouteName) => Promise<void>

export interface RouteCaller {
  readonly callRoute: CallRoute
  readonly requireRoute: RequireRoute
}

export function routeCaller(app: App, routes: ReadonlyMap<string, Route>, outer: OuterCall): RouteCaller {
  const { actor, reply } = outer

  function routeOf(name: string): Route {
    const route = routes.get(name)
    if (route === undefined) throw new Error(`${name} is not a route`)
    return route
  }

  const callRoute: CallRoute = async (name, { params = {}, query = {}, body, answer }) => {
    const route = routeOf(name)
    const { ip, headers, id } = reply.request
    const audited = auditedCall(route, { url: urlOf(route.path, params), ip, headers, id }, actor)
    await authorize(app, actor, route, params).catch(async (error: unknown) => {
      if (audited !== undefined) await recordFailure(app, audited, error)
      throw error
    })
    const run = (): ReturnType<Route['run']> => route.run({ ...outer, params, query, body, settle: async () => undefined })
    const outcome = await (audited === undefined ? run() : auditCall(app, audited, run))
    if (outcome === 'stream') throw new Error(`${name} answers with a stream`)
    return answer.parse(outcome.body)
  }

  return { callRoute, requireRoute: async (name) => authorize(app, actor, routeOf(name), {}) }
}

function urlOf(path: string, params: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}

/** The GraphQL API for public clients (docs/development/adr/0143-graphql.md). */
import { readFileSync } from 'node:fs'
import { GraphqlRequest, MAX_GRAPHQL_BYTES, openGraphql } from '@windlass/graphql'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { Callers } from '../../documents/caller-limits.ts'
import { callerOf } from '../../identity/actor.ts'
import { toFault } from '../problem.ts'
import { route, type Route } from '../route.ts'
import { accountMutations, accountQueries } from './account.ts'
import { applicationQueries } from './applications.ts'
import { routeCaller } from './call-route.ts'
import type { PlatformCall } from './platform-call.ts'
import { releaseQueries } from './releases.ts'
import { rightQueries } from './rights.ts'
import { runtimeMutations, runtimeQueries } from './runtimes.ts'

export const PLATFORM_SCHEMA = readFileSync(new URL('platform.graphql', import.meta.url), 'utf8')

/** Concurrent requests of one caller. */
const REQUESTS_AT_ONCE = 8
/** Those of them that read a list, of which each may have a page in memory. */
const LISTS_AT_ONCE = 2

const GraphqlReply = z.looseObject({ data: z.unknown().optional() })

/** Returns the route. Its fields call the other routes. */
export function graphqlRoute(app: App, others: readonly Route[]): Route {
  const noLimit = { bytesAtOnce: Number.POSITIVE_INFINITY, msPerMinute: Number.POSITIVE_INFINITY }
  const lists = new Callers(app.clock, { ...noLimit, callsAtOnce: LISTS_AT_ONCE }, 'GraphQL requests for lists')
  const routes = new Map(others.map((one) => [`${one.method} ${one.path}`, one]))
  const run = openGraphql<PlatformCall>({
    schema: PLATFORM_SCHEMA,
    queries: { ...accountQueries, ...runtimeQueries, ...applicationQueries, ...releaseQueries, ...rightQueries },
    mutations: { ...accountMutations, ...runtimeMutations },
    toFault(error, { requestId }) {
      const found = toFault(error)
      if (found.code === 'internal') app.log.error({ err: found.cause ?? found, requestId }, 'bug')
      return found
    },
  })
  return route('POST', '/2.0/api/graphql', {
    summary: 'Carry out a GraphQL request of a public client',
    allow: 'graphql-caller',
    scope: 'none',
    unaudited: 'each field calls a route of /v1, whose call has a record',
    body: GraphqlRequest,
    maxBodyBytes: MAX_GRAPHQL_BYTES,
    callsAtOnce: REQUESTS_AT_ONCE,
    replies: { 200: GraphqlReply, 400: GraphqlReply, 401: GraphqlReply, 403: GraphqlReply },
    async handle(call) {
      const { actor, reply } = call
      using held = new DisposableStack()
      const { status, body } = await run(call.body, {
        app,
        actor,
        ...routeCaller(app, routes, call),
        requestId: reply.request.id,
        enterList: () => held.defer(lists.enter(callerOf(actor), 0)),
      })
      return { status, body }
    },
  })
}

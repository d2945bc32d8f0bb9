/**
 * The GraphQL API for public clients of a GitOps runtime (docs/development/adr/0143-graphql.md). Fields carry out the other routes, with their rights and limits, so nothing can be done by GraphQL that
 * the same caller may not do without it.
 */
import { readFileSync } from 'node:fs'
import { GraphqlRequest, MAX_GRAPHQL_BYTES, openGraphql, type GraphqlAnswer } from '@windlass/graphql'
import { fault, isAbort, isFault, type Logger } from '@windlass/kit'
import { route, type Route } from '../http/route.ts'
import { applicationQueries } from './applications.ts'
import { gitSourceMutations } from './git-sources.ts'
import { integrationMutations, integrationQueries } from './integrations.ts'
import type { RuntimeCall } from './runtime-call.ts'

export const APP_PROXY_SCHEMA = readFileSync(new URL('app-proxy.graphql', import.meta.url), 'utf8')

const STOPPED = { message: 'The app-proxy stops.', hint: 'Check whether the call had an effect, then repeat it.' }

export interface GraphqlPlace {
  readonly runtime: string
  readonly namespace: string
  readonly log: Logger
}

export function graphqlRoute(others: readonly Route[], { runtime, namespace, log }: GraphqlPlace): Route {
  const routes = new Map(others.map((one) => [`${one.method} ${one.path}`, one]))
  const run = openGraphql<RuntimeCall>({
    schema: APP_PROXY_SCHEMA,
    queries: { ...integrationQueries, ...applicationQueries },
    mutations: { ...integrationMutations, ...gitSourceMutations },
    toFault(error) {
      const meaning = isAbort(error) ? fault('unavailable', STOPPED, error) : fault('internal', {}, error)
      const found = isFault(error) ? error : meaning
      if (found.code === 'internal') log.error({ err: found.cause ?? found }, 'bug')
      return found
    },
  })
  /** The answers that are not 200 by themselves. */
  const statuses = new WeakMap<object, GraphqlAnswer['status']>()
  return route('POST', '/graphql', {
    right: 'see-gitops',
    body: GraphqlRequest,
    maxBodyBytes: MAX_GRAPHQL_BYTES,
    statusOf: (answer) => statuses.get(answer) ?? 200,
    async handle(call) {
      const { status, body } = await run(call.body, {
        runtime,
        namespace,
        async callRoute(name, { answer, ...given }) {
          const asked = routes.get(name)
          if (asked === undefined) throw new Error(`${name} is not a route`)
          return answer.parse(await call.callRoute(asked, { params: {}, query: {}, body: undefined, ...given }))
        },
      })
      statuses.set(body, status)
      return body
    },
  })
}

/** The client of `/v1` for users: one group of methods for each kind of resource. */
import { createClient, tolerant, type Client, type ClientOptions } from '@windlass/protocol'
import { bindCalls, type Calls } from './calls.ts'
import { ROUTES } from './routes.ts'

type Groups = { readonly [G in keyof typeof ROUTES]: Calls<(typeof ROUTES)[G]> }

/**
 * Typed methods by resource: `client.builds.create({ document })`, `client.runtimes.get(name, { query: { merged: true } })`. Answers are read with
 * `tolerant`: a newer server may return a state or reason that the types do not list. The methods of `Client` take any path and body. They are for tests
 * of invalid input, with `pathOf(ROUTES.builds.create)`.
 */
export interface ApiClient extends Client, Groups {
  withToken(token: string): ApiClient
}

/** Opens a client. It sends nothing before the first call. */
export function openClient(options: ClientOptions): ApiClient {
  return withRoutes(createClient(options))
}

/** Adds the typed methods to a client. */
export function withRoutes(client: Client): ApiClient {
  const groups = Object.entries(ROUTES).map(([name, routes]) => [name, bindCalls(client, routes, tolerant)])
  return { ...client, ...(Object.fromEntries(groups) as Groups), withToken: (token) => withRoutes(client.withToken(token)) }
}

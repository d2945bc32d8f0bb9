/** The client of `/v1` for users: one group of methods for each kind of resource. */
import { createClient, type Client, type ClientOptions } from '@windlass/protocol'
import { bindGroups, type Groups } from './groups.ts'
import { ROUTES } from './routes.ts'

/**
 * Typed methods by resource: `client.builds.create({ document })`, `client.runtimes.get(name, { query: { merged: true } })`. The methods of `Client` take
 * any path and body. They are for tests of invalid input, with `pathOf(ROUTES.builds.create)`.
 */
export interface ApiClient extends Client, Groups<typeof ROUTES> {
  withToken(token: string): ApiClient
}

/** Opens a client. It sends nothing before the first call. */
export function openClient(options: ClientOptions): ApiClient {
  return withRoutes(createClient(options))
}

/** Adds the typed methods to a client. */
export function withRoutes(client: Client): ApiClient {
  return { ...client, ...bindGroups(client, ROUTES), withToken: (token) => withRoutes(client.withToken(token)) }
}

/** What the public command line, chart and agent call: thin, on top of what `/v1` does. */
import type { App } from '../../app.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { Route } from '../route.ts'
import { polledRoutes, publicAgentRoutes } from './agent-routes.ts'
import { installerRoutes } from './installer-routes.ts'
import { runtimeEnvironmentRoutes } from './runtime-environments.ts'
import { keyRoutes } from './key-routes.ts'

/** Every route of `/api`. */
export function vendorRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    ...polledRoutes(app),
    ...publicAgentRoutes(app, authenticator),
    ...installerRoutes(app),
    ...runtimeEnvironmentRoutes(app),
    ...keyRoutes(app, authenticator),
  ]
}

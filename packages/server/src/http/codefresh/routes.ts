/** Routes that the Codefresh CLI, chart and agent call: a thin layer on top of `/v1`. */
import type { App } from '../../app.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { Route } from '../route.ts'
import { accountRoutes } from './account-routes.ts'
import { protocolV1Routes, publicAgentRoutes } from './agent-routes.ts'
import { installerRoutes } from './installer-routes.ts'
import { runtimeEnvironmentRoutes } from './runtime-environments.ts'
import { keyRoutes } from './key-routes.ts'

/** Returns all routes of `/api`. */
export function codefreshRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    ...protocolV1Routes(app),
    ...publicAgentRoutes(app, authenticator),
    ...installerRoutes(app),
    ...runtimeEnvironmentRoutes(app),
    ...keyRoutes(app, authenticator),
    ...accountRoutes(app),
  ]
}

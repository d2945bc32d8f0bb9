import type { App } from '../app.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { annotationRoutes, settingsRoutes } from './annotation-routes.ts'
import { agentRoutes } from './agent-routes.ts'
import { buildRoutes } from './build-routes.ts'
import { debugRoutes } from './debug-routes.ts'
import { engineRoutes } from './engine-routes.ts'
import { toOpenApi } from './openapi.ts'
import { imageRoutes } from './image-routes.ts'
import { monitorRoutes } from './monitor-routes.ts'
import { pipelineRoutes } from './pipeline-routes.ts'
import { contextRoutes } from './resource-routes.ts'
import { ok, route, type Route } from './route.ts'
import { agentResourceRoutes, clusterRoutes, installationRoutes } from './runner-routes.ts'
import { runtimeRoutes } from './runtime-routes.ts'
import { stepTypeRoutes } from './step-type-routes.ts'
import { healthRoutes, identityRoutes } from './system-routes.ts'
import { vendorRoutes } from './vendor/routes.ts'
import { z } from 'zod'

/** Every route of the server. What is not in this table does not exist. */
export function allRoutes(app: App, authenticator: Authenticator): Route[] {
  const routes = [
    ...healthRoutes(app),
    ...identityRoutes(app, authenticator),
    ...pipelineRoutes(app),
    ...stepTypeRoutes(app),
    ...contextRoutes(app),
    ...agentResourceRoutes(app, authenticator),
    ...clusterRoutes(app),
    ...installationRoutes(app),
    ...runtimeRoutes(app),
    ...buildRoutes(app),
    ...annotationRoutes(app),
    ...imageRoutes(app),
    ...settingsRoutes(app),
    ...debugRoutes(app),
    ...agentRoutes(app),
    ...engineRoutes(app),
    ...monitorRoutes(app),
    ...vendorRoutes(app, authenticator),
  ]
  let document: Record<string, unknown> | undefined
  routes.push(
    route('GET', '/v1/openapi.json', {
      summary: 'This description',
      allow: 'public',
      replies: { 200: z.record(z.string(), z.unknown()) },
      handle: async () => ok((document ??= toOpenApi(routes))),
    }),
  )
  return routes
}

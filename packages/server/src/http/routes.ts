import type { App } from '../app.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { masterKeyRoutes, settingsRoutes } from './routes/account.ts'
import { agentRoutes } from './routes/agent.ts'
import { annotationRoutes } from './routes/annotation.ts'
import { buildRoutes } from './routes/build.ts'
import { debugRoutes } from './routes/debug.ts'
import { engineRoutes } from './routes/engine.ts'
import { toOpenApi } from './openapi.ts'
import { imageRoutes } from './routes/image.ts'
import { monitorRoutes } from './routes/monitor.ts'
import { pipelineRoutes } from './routes/pipeline.ts'
import { contextRoutes } from './routes/resource.ts'
import { ok, route, type Route } from './route.ts'
import { agentResourceRoutes, clusterRoutes, installationRoutes } from './routes/runner.ts'
import { runtimeRoutes } from './routes/runtime.ts'
import { runtimeBaseRoutes } from './routes/runtime-base.ts'
import { stepTypeRoutes } from './routes/step-type.ts'
import { sessionRoutes } from './routes/session.ts'
import { healthRoutes, identityRoutes } from './routes/system.ts'
import { codefreshRoutes } from './codefresh/routes.ts'
import { z } from 'zod'

/** Returns all routes of the server. */
export function allRoutes(app: App, authenticator: Authenticator): Route[] {
  const routes = [
    ...healthRoutes(app),
    ...identityRoutes(app, authenticator),
    ...sessionRoutes(app, authenticator),
    ...pipelineRoutes(app),
    ...stepTypeRoutes(app),
    ...contextRoutes(app),
    ...agentResourceRoutes(app, authenticator),
    ...clusterRoutes(app),
    ...installationRoutes(app),
    ...runtimeRoutes(app),
    ...runtimeBaseRoutes(app),
    ...buildRoutes(app),
    ...annotationRoutes(app),
    ...imageRoutes(app),
    ...settingsRoutes(app),
    ...masterKeyRoutes(app),
    ...debugRoutes(app),
    ...agentRoutes(app),
    ...engineRoutes(app),
    ...monitorRoutes(app),
    ...codefreshRoutes(app, authenticator),
  ]
  let document: Record<string, unknown> | undefined
  routes.push(
    route('GET', '/v1/openapi.json', {
      summary: 'OpenAPI description of the server',
      allow: 'public',
      scope: 'none',
      replies: { 200: z.record(z.string(), z.unknown()) },
      handle: async () => ok((document ??= toOpenApi(routes))),
    }),
  )
  return routes
}

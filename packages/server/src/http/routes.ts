import { z } from 'zod'
import type { App } from '../app.ts'
import type { CallRuntime } from '../gitops/live/runtime-client.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { codefreshRoutes } from './codefresh/routes.ts'
import { graphqlRoute } from './graphql/graphql-route.ts'
import { toOpenApi } from './openapi/openapi.ts'
import { openRateLimit } from './rate-limit.ts'
import { ok, route, type Route } from './route.ts'
import { masterKeyRoutes, settingsRoutes } from './routes/access/account.ts'
import { auditRoutes } from './routes/access/audit.ts'
import { linkRoutes } from './routes/access/link.ts'
import { oidcRoutes } from './routes/access/oidc.ts'
import { sessionRoutes } from './routes/access/session.ts'
import { stepTokenRoutes } from './routes/access/step-token.ts'
import { teamRoutes } from './routes/access/team.ts'
import { userRoutes } from './routes/access/user.ts'
import { annotationRoutes } from './routes/builds/annotation.ts'
import { buildRoutes } from './routes/builds/build.ts'
import { debugRoutes } from './routes/builds/debug.ts'
import { engineRoutes } from './routes/builds/engine.ts'
import { logRoutes } from './routes/builds/log.ts'
import { queueRoutes } from './routes/builds/queue.ts'
import { imageRoutes } from './routes/pipelines/image.ts'
import { pipelineVersionRoutes } from './routes/pipelines/pipeline-version.ts'
import { pipelineRoutes } from './routes/pipelines/pipeline.ts'
import { contextRoutes } from './routes/pipelines/resource.ts'
import { stepTypeRoutes } from './routes/pipelines/step-type.ts'
import { viewRoutes } from './routes/pipelines/view.ts'
import { agentRoutes } from './routes/runtimes/agent.ts'
import { applicationRoutes } from './routes/runtimes/application.ts'
import { reportedObjectRoutes } from './routes/runtimes/reported-object.ts'
import { diskRoutes } from './routes/runtimes/disk.ts'
import { gitlabJobRoutes } from './routes/runtimes/gitlab-job.ts'
import { gitopsRoutes } from './routes/runtimes/gitops.ts'
import { gitopsStatusRoutes } from './routes/runtimes/gitops-status.ts'
import { imageReportRoutes } from './routes/runtimes/image-report.ts'
import { liveApplicationRoutes } from './routes/runtimes/live-application.ts'
import { productRoutes } from './routes/runtimes/product.ts'
import { releaseRoutes } from './routes/runtimes/release.ts'
import { monitorRoutes } from './routes/runtimes/monitor.ts'
import { agentResourceRoutes, clusterRoutes, installationRoutes } from './routes/runtimes/runner.ts'
import { runtimeBaseRoutes } from './routes/runtimes/runtime-base.ts'
import { runtimeRoutes } from './routes/runtimes/runtime.ts'
import { archiveRoutes } from './routes/system/archive.ts'
import { systemHealthRoutes } from './routes/system/health.ts'
import { messageRoutes } from './routes/system/message.ts'
import { notificationRoutes } from './routes/system/notification.ts'
import { statsRoutes } from './routes/system/stats.ts'
import { streamRoutes } from './routes/system/stream.ts'
import { healthRoutes, identityRoutes } from './routes/system/system.ts'
import { cronTriggerRoutes } from './routes/triggers/cron-trigger.ts'
import { eventTriggerRoutes } from './routes/triggers/event-trigger.ts'
import { triggerRoutes } from './routes/triggers/trigger.ts'
import { webhookRoutes } from './routes/triggers/webhook.ts'

/** Wrong passwords for one name, from all addresses, after which the name is refused until the window of the first one ends. */
const WRONG_PASSWORDS = 5
/** Length of the window. Milliseconds. */
const WRONG_PASSWORDS_MS = 5 * 60_000

/** Returns all routes of the server. `callRuntime` is absent if it has no tunnels. */
export function allRoutes(app: App, authenticator: Authenticator, callRuntime?: CallRuntime): Route[] {
  const checks = { authenticator, passwords: openRateLimit(app.clock, WRONG_PASSWORDS, WRONG_PASSWORDS_MS) }
  const routes = [
    ...healthRoutes(app),
    ...identityRoutes(app, authenticator),
    ...sessionRoutes(app, checks),
    ...oidcRoutes(app, checks),
    ...userRoutes(app, checks),
    ...teamRoutes(app, authenticator),
    ...auditRoutes(app),
    ...pipelineRoutes(app),
    ...pipelineVersionRoutes(app),
    ...viewRoutes(app),
    ...statsRoutes(app),
    ...stepTypeRoutes(app),
    ...contextRoutes(app),
    ...triggerRoutes(app),
    ...cronTriggerRoutes(app),
    ...eventTriggerRoutes(app),
    ...webhookRoutes(app),
    ...messageRoutes(app),
    ...notificationRoutes(app),
    ...agentResourceRoutes(app, authenticator),
    ...diskRoutes(app),
    ...clusterRoutes(app),
    ...installationRoutes(app),
    ...runtimeRoutes(app),
    ...runtimeBaseRoutes(app),
    ...systemHealthRoutes(app),
    ...buildRoutes(app),
    ...queueRoutes(app),
    ...logRoutes(app),
    ...streamRoutes(app),
    ...annotationRoutes(app),
    ...imageRoutes(app),
    ...linkRoutes(app),
    ...settingsRoutes(app),
    ...masterKeyRoutes(app),
    ...archiveRoutes(app),
    ...debugRoutes(app),
    ...agentRoutes(app),
    ...engineRoutes(app),
    ...stepTokenRoutes(app),
    ...monitorRoutes(app),
    ...gitlabJobRoutes(app),
    ...gitopsRoutes(app),
    ...gitopsStatusRoutes(app),
    ...applicationRoutes(app),
    ...imageReportRoutes(app),
    ...reportedObjectRoutes(app),
    ...liveApplicationRoutes(app, callRuntime),
    ...productRoutes(app),
    ...releaseRoutes(app),
    ...codefreshRoutes(app, authenticator),
  ]
  routes.push(graphqlRoute(app, routes))
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

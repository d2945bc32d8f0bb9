import type { App } from '../app.ts'
import type { Authenticator } from '../identity/authenticate.ts'
import { masterKeyRoutes, settingsRoutes } from './routes/account.ts'
import { agentRoutes } from './routes/agent.ts'
import { archiveRoutes } from './routes/archive.ts'
import { annotationRoutes } from './routes/annotation.ts'
import { buildRoutes } from './routes/build.ts'
import { diskRoutes } from './routes/disk.ts'
import { debugRoutes } from './routes/debug.ts'
import { engineRoutes } from './routes/engine.ts'
import { toOpenApi } from './openapi.ts'
import { logRoutes } from './routes/log.ts'
import { imageRoutes } from './routes/image.ts'
import { monitorRoutes } from './routes/monitor.ts'
import { pipelineRoutes } from './routes/pipeline.ts'
import { pipelineVersionRoutes } from './routes/pipeline-version.ts'
import { queueRoutes } from './routes/queue.ts'
import { systemHealthRoutes } from './routes/health.ts'
import { statsRoutes } from './routes/stats.ts'
import { contextRoutes } from './routes/resource.ts'
import { ok, route, type Route } from './route.ts'
import { agentResourceRoutes, clusterRoutes, installationRoutes } from './routes/runner.ts'
import { runtimeRoutes } from './routes/runtime.ts'
import { runtimeBaseRoutes } from './routes/runtime-base.ts'
import { cronTriggerRoutes } from './routes/cron-trigger.ts'
import { eventTriggerRoutes } from './routes/event-trigger.ts'
import { triggerRoutes } from './routes/trigger.ts'
import { messageRoutes } from './routes/message.ts'
import { notificationRoutes } from './routes/notification.ts'
import { viewRoutes } from './routes/view.ts'
import { webhookRoutes } from './routes/webhook.ts'
import { stepTypeRoutes } from './routes/step-type.ts'
import { auditRoutes } from './routes/audit.ts'
import { oidcRoutes } from './routes/oidc.ts'
import { linkRoutes } from './routes/link.ts'
import { sessionRoutes } from './routes/session.ts'
import { streamRoutes } from './routes/stream.ts'
import { stepTokenRoutes } from './routes/step-token.ts'
import { teamRoutes } from './routes/team.ts'
import { userRoutes } from './routes/user.ts'
import { openRateLimit } from './rate-limit.ts'
import { healthRoutes, identityRoutes } from './routes/system.ts'
import { codefreshRoutes } from './codefresh/routes.ts'
import { z } from 'zod'

/** Wrong passwords for one name, from all addresses, after which the name is refused until the window of the first one ends. */
const WRONG_PASSWORDS = 5
/** Length of the window. Milliseconds. */
const WRONG_PASSWORDS_MS = 5 * 60_000

/** Returns all routes of the server. */
export function allRoutes(app: App, authenticator: Authenticator): Route[] {
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

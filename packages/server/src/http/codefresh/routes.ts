/** Routes that the Codefresh CLI, chart and agent call: a thin layer on top of the functions of `/v1`. */
import type { App } from '../../app.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { Route } from '../route.ts'
import { absentRoutes } from './absent-routes.ts'
import { protocolV1Routes, publicAgentRoutes } from './agent-routes.ts'
import { publicAnnotationRoutes } from './annotation-routes.ts'
import { publicAuditRoutes } from './audit-routes.ts'
import { badgeRoutes } from './badge-routes.ts'
import { buildDataRoutes } from './build-data-routes.ts'
import { publicBuildRoutes } from './build-routes.ts'
import { publicContextRoutes } from './context-routes.ts'
import { installerRoutes } from './installer-routes.ts'
import { keyRoutes } from './key-routes.ts'
import { logRoutes } from './log-routes.ts'
import { publicPipelineRoutes } from './pipeline-routes.ts'
import { publicProjectRoutes } from './project-routes.ts'
import { publicRegistryRoutes } from './registry-routes.ts'
import { runtimeEnvironmentRoutes } from './runtime-environments.ts'
import { publicRepoRoutes } from './repo-routes.ts'
import { publicStepTypeRoutes } from './step-type-routes.ts'
import { publicTeamRoutes } from './team-routes.ts'
import { publicEventRoutes } from './trigger-event-routes.ts'
import { publicTriggerRoutes } from './trigger-routes.ts'
import { userRoutes } from './user-routes.ts'

/** Returns all routes of `/api`. */
export function codefreshRoutes(app: App, authenticator: Authenticator): Route[] {
  return [
    ...protocolV1Routes(app),
    ...publicAgentRoutes(app, authenticator),
    ...installerRoutes(app),
    ...runtimeEnvironmentRoutes(app),
    ...keyRoutes(app, authenticator),
    ...userRoutes(app),
    ...publicTeamRoutes(app, authenticator),
    ...publicAuditRoutes(app),
    ...publicProjectRoutes(app),
    ...publicPipelineRoutes(app),
    ...publicBuildRoutes(app),
    ...buildDataRoutes(app),
    ...logRoutes(app),
    ...publicContextRoutes(app),
    ...publicRegistryRoutes(app),
    ...publicRepoRoutes(app),
    ...publicStepTypeRoutes(app),
    ...publicAnnotationRoutes(app),
    ...badgeRoutes(app),
    ...publicTriggerRoutes(app),
    ...publicEventRoutes(app),
    ...absentRoutes(),
  ]
}

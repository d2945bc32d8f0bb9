/** Routes that the Codefresh CLI, chart and agent call: a thin layer on top of the functions of `/v1`. */
import type { App } from '../../app.ts'
import type { Authenticator } from '../../identity/authenticate.ts'
import type { Route } from '../route.ts'
import { absentRoutes } from './absent-routes.ts'
import { protocolV1Routes, publicAgentRoutes } from './runner/agent-routes.ts'
import { publicAnnotationRoutes } from './builds/annotation-routes.ts'
import { publicAuditRoutes } from './access/audit-routes.ts'
import { badgeRoutes } from './builds/badge-routes.ts'
import { buildDataRoutes } from './builds/build-data-routes.ts'
import { publicBuildRoutes } from './builds/build-routes.ts'
import { publicContextRoutes } from './contexts/context-routes.ts'
import { installerRoutes } from './runner/installer-routes.ts'
import { keyRoutes } from './access/key-routes.ts'
import { logRoutes } from './log/log-routes.ts'
import { publicPipelineRoutes } from './pipelines/pipeline-routes.ts'
import { publicProjectRoutes } from './pipelines/project-routes.ts'
import { publicRegistryRoutes } from './contexts/registry-routes.ts'
import { runtimeEnvironmentRoutes } from './runner/runtime-environments.ts'
import { publicRepoRoutes } from './contexts/repo-routes.ts'
import { publicStepTypeRoutes } from './pipelines/step-type-routes.ts'
import { publicTeamRoutes } from './access/team-routes.ts'
import { publicEventRoutes } from './triggers/trigger-event-routes.ts'
import { publicTriggerRoutes } from './triggers/trigger-routes.ts'
import { userRoutes } from './access/user-routes.ts'

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

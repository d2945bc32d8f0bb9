/** Puts together the routes of an app-proxy: what each kind of them works with, and how many changes are in progress at once. */
import { createClient, type Client } from '@windlass/protocol'
import { openArgoApi } from './argo/api.ts'
import type { Applications } from './argo/applications.ts'
import type { Comparisons } from './argo/comparisons.ts'
import { openLiveObjects } from './argo/live-objects.ts'
import { openRollouts } from './argo/rollouts.ts'
import type { UserCommits } from './commit/user-commits.ts'
import { openForgeSession, type ForgeSession } from './forge/session.ts'
import { openGitops } from './gitops/gitops.ts'
import { graphqlRoute } from './graphql/graphql-route.ts'
import { applicationFileRoutes } from './http/application-file-routes.ts'
import { applicationRoutes, type ApplicationParts } from './http/application-routes.ts'
import { browseRoutes } from './http/browse-routes.ts'
import { commitRoutes, type CommitParts } from './http/commit-routes.ts'
import { deliveryRoutes } from './http/delivery-routes.ts'
import { gitopsRoutes } from './http/gitops-routes.ts'
import { hookRoutes } from './http/hook-routes.ts'
import { imageReportRoute } from './http/image-report-route.ts'
import { integrationRoutes, requireIntegration, type IntegrationParts } from './http/integration-routes.ts'
import { route, type Route } from './http/route.ts'
import { serviceRoutes } from './http/service-routes.ts'
import { openSlots, type Slots } from './http/slots.ts'
import { workflowRoutes } from './http/workflow-routes.ts'
import type { AppProxyOptions } from './options.ts'
import type { GitToken } from './store/git-tokens.ts'
import { openLogArchive } from './workflows/archive.ts'
import { openWorkflows } from './workflows/workflows.ts'

/** Commits in progress at once, each with its body in memory and a process of git. */
const COMMITS = { limit: 6, waiting: 30, of: 'commits' }
/** Changes of workflows in progress at once, each with its body and a workflow in memory. A commit that takes long does not delay them. */
const WORKFLOW_CHANGES = { limit: 6, waiting: 30, of: 'changes of workflows' }
/** Calls for logs of workflows in progress at once, each with several logs in memory. */
const WORKFLOW_LOGS = { limit: 6, waiting: 60, of: 'calls for logs of workflows' }

export interface RouteParts extends Omit<IntegrationParts, 'clock'> {
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly commits: UserCommits
  readonly applications: Applications
  readonly comparisons: Comparisons
}

/** Returns the routes of a GitOps runtime, or those of a Runner: the ones without Argo CD and the shared configuration repository. */
export function openRoutes(options: AppProxyOptions, parts: RouteParts): Route[] {
  const { runtime, namespace, clock, log, version, server } = options
  const { integrations, tokens, forges, commits, comparisons } = parts
  const slots = openSlots(COMMITS)

  /** Opens the forge of an integration with the token of the caller. Throws `not-found` and `git-token-missing`. */
  async function open({
    params,
    caller,
    signal,
  }: Parameters<CommitParts['open']>[0]): Promise<{ readonly session: ForgeSession; readonly token: GitToken }> {
    const integration = await requireIntegration(integrations, params.name, caller)
    const token = await tokens.get(integration, caller.userId)
    return { session: openForgeSession({ caller: forges, integration, login: token, signal }), token }
  }

  const servesGitops = options.servesGitops !== false
  const routes = [
    route('GET', '/version', {
      right: 'see-gitops',
      handle: async () => ({ version, runtime, platformHost: server.url }),
    }),
    ...integrationRoutes({ ...parts, clock }),
    ...browseRoutes(async (call) => (await open(call)).session),
    ...commitRoutes({ open, commits, comparisons, slots }),
    ...hookRoutes(async (call) => (await open(call)).session),
    ...(servesGitops ? routesOfGitops(options, parts, slots) : []),
  ]
  return servesGitops ? [...routes, graphqlRoute(routes, { runtime, namespace, log })] : routes
}

/** Returns the routes of Argo CD, of workflows and of the shared configuration repository. `slots`: for commits. */
function routesOfGitops(options: AppProxyOptions, parts: RouteParts, slots: Slots): Route[] {
  const { kube, namespace, runtime, clock, proxy, sealing } = options
  const { applications } = parts
  const archive = options.logArchive && openLogArchive({ ...options.logArchive, proxy })
  const isHosted = options.isHosted === true
  const ofArgo = openArgo(options, applications)
  const gitops = openGitops({
    ...parts,
    kube,
    argo: ofArgo.argo,
    place: { runtime, namespace, isHosted },
    isNamespaced: isHosted || options.isNamespaced === true,
    sealing,
    clock,
  })
  const workflows = options.operatesWorkflows === true ? openWorkflows({ kube, namespace, clock, archive }) : undefined
  const ofWorkflows = workflowRoutes({
    workflows,
    namespace,
    slots: openSlots(WORKFLOW_CHANGES),
    logSlots: openSlots(WORKFLOW_LOGS),
  })
  return [
    ...gitopsRoutes({ ...gitops, slots }),
    ...applicationRoutes({ applications, ...ofArgo, namespace }),
    ...applicationFileRoutes({ ...gitops, slots }),
    ...deliveryRoutes({ ...gitops, slots }),
    ...serviceRoutes({ ...gitops, slots }),
    ...ofWorkflows,
    imageReportRoute({ reports: options.imageReports, workflows, routes: ofWorkflows, clock }),
  ]
}

/** What needs the server of Argo CD. Nothing if the app-proxy does not know it. */
function openArgo(
  { argo: known, namespace, clock }: AppProxyOptions,
  applications: Applications,
): Pick<ApplicationParts, 'argo' | 'rollouts'> {
  if (known === undefined) return { argo: undefined, rollouts: undefined }
  const options = { client: createClient(known.server), tokenFile: known.tokenFile, namespace, clock }
  const argo = openArgoApi(options)
  return { argo, rollouts: openRollouts({ argo, objects: openLiveObjects(options), applications }) }
}

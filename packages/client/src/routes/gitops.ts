/** GitOps runtimes, their tokens, tunnels, shared repository and applications. */
import {
  Application,
  ApplicationDetails,
  ApplicationEvent,
  ApplicationImage,
  ApplicationQuery,
  ContainerLog,
  ContainerLogQuery,
  EventQuery,
  GitopsRuntime,
  GitopsSettings,
  GitopsSettingsInput,
  GitopsToken,
  GitopsTokenCreated,
  GitopsTokenInput,
  ImageReport,
  ImageReportInput,
  ImageReportQuery,
  page,
  RefreshInput,
  ReportedDeployment,
  ResourceDifference,
  ReportedCluster,
  ReportedClusterQuery,
  ReportedRollout,
  ReportedRolloutDetails,
  ReportedRolloutQuery,
  ReportedWorkflow,
  ReportedWorkflowDetails,
  ReportedWorkflowQuery,
  ResourceKey,
  ResourceManifest,
  ResourceNode,
  RollbackInput,
  RuntimeApplicationDetails,
  RuntimeStatus,
  RuntimeErrorsInput,
  SyncInput,
  Tunnel,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const tunnels = {
  /** Lists the tunnels of all runtimes by name. */
  list: route('GET', '/v1/tunnels', { answer: page(Tunnel) }),
  get: route('GET', '/v1/tunnels/{runtime}', { answer: Tunnel }),
  /** Ends the connection of a runtime. Its client connects again a minute later. */
  disconnect: route('POST', '/v1/tunnels/{runtime}/disconnect', { answer: Tunnel }),
}

export const gitopsRuntimes = {
  /** Lists all runtimes by name. */
  list: route('GET', '/v1/gitops-runtimes', { answer: page(GitopsRuntime) }),
  get: route('GET', '/v1/gitops-runtimes/{runtime}', { answer: GitopsRuntime }),
  /** Replaces the errors of the installation of a runtime. */
  putErrors: route('PUT', '/v1/gitops-runtimes/{runtime}/errors', { body: RuntimeErrorsInput, answer: GitopsRuntime }),
  /** Deletes a runtime with its tokens, and ends its connection. */
  delete: route('DELETE', '/v1/gitops-runtimes/{runtime}', { answer: 'nothing' }),
  tokens: route('GET', '/v1/gitops-runtimes/{runtime}/tokens', { answer: page(GitopsToken) }),
  /** Creates a token, and the runtime if it does not exist. */
  createToken: route('POST', '/v1/gitops-runtimes/{runtime}/tokens', {
    body: GitopsTokenInput,
    answer: GitopsTokenCreated,
    isKeyed: true,
  }),
  /** Deletes a token. A connection that uses it ends. */
  deleteToken: route('DELETE', '/v1/gitops-runtimes/{runtime}/tokens/{id}', { answer: 'nothing' }),
}

export const gitopsSettings = {
  /** Returns the shared configuration repository of the account; no repository if none was chosen. */
  get: route('GET', '/v1/gitops-settings', { answer: GitopsSettings }),
  /** Chooses it. App-proxies call this after they have checked the repository. */
  put: route('PUT', '/v1/gitops-settings', { body: GitopsSettingsInput, answer: GitopsSettings }),
  /** Forgets it. The files of the repository stay. */
  reset: route('DELETE', '/v1/gitops-settings', { answer: 'nothing' }),
}

export const gitopsStatus = {
  /** Returns what works and what is broken in each runtime, by name. */
  list: route('GET', '/v1/gitops-status', { answer: page(RuntimeStatus) }),
  get: route('GET', '/v1/gitops-status/{runtime}', { answer: RuntimeStatus }),
  /** Lists the clusters that the Argo CDs of runtimes know, those of the runtimes themselves first. */
  clusters: route('GET', '/v1/gitops-clusters', { query: ReportedClusterQuery, answer: page(ReportedCluster) }),
}

export const imageReports = {
  /** Lists reports of images, newest first. */
  list: route('GET', '/v1/image-reports', { query: ImageReportQuery, answer: page(ImageReport) }),
  get: route('GET', '/v1/image-reports/{id}', { answer: ImageReport }),
  /** Reports an image. The same report can be sent again. */
  report: route('POST', '/v1/image-reports', { body: ImageReportInput, answer: ImageReport }),
}

export const applications = {
  list: route('GET', '/v1/applications', { query: ApplicationQuery, answer: page(Application) }),
  /** Shows an application by its id, or by RUNTIME/NAMESPACE/NAME. */
  get: route('GET', '/v1/applications/{id}', { answer: ApplicationDetails }),
  /** Lists the last deployments of an application with their health, newest first. */
  deployments: route('GET', '/v1/applications/{id}/deployments', { answer: page(ReportedDeployment) }),
  /** Lists the images of an application, each with its newest report. */
  images: route('GET', '/v1/applications/{id}/images', { answer: page(ApplicationImage) }),
  /** Shows an application as its runtime has it now. The runtime must be connected, as for the routes that follow. */
  live: route('GET', '/v1/applications/{id}/live', { answer: RuntimeApplicationDetails }),
  tree: route('GET', '/v1/applications/{id}/tree', { answer: page(ResourceNode) }),
  diff: route('GET', '/v1/applications/{id}/diff', { answer: page(ResourceDifference) }),
  /** Shows an object of an application as the cluster has it. */
  resource: route('GET', '/v1/applications/{id}/resource', { query: ResourceKey, answer: ResourceManifest }),
  /** Lists events of an application, or of one of its objects. */
  events: route('GET', '/v1/applications/{id}/events', { query: EventQuery, answer: page(ApplicationEvent) }),
  /** Shows the newest lines of the log of a container. `followContainerLog` goes on after them. */
  logs: route('GET', '/v1/applications/{id}/logs', { query: ContainerLogQuery, answer: ContainerLog }),
  /** Starts a sync. */
  sync: route('POST', '/v1/applications/{id}/sync', { body: SyncInput, answer: RuntimeApplicationDetails }),
  /** Starts a sync to an earlier deployment. */
  rollBack: route('POST', '/v1/applications/{id}/rollback', { body: RollbackInput, answer: RuntimeApplicationDetails }),
  /** Compares an application with its source, and waits for the result. */
  refresh: route('POST', '/v1/applications/{id}/refresh', { body: RefreshInput, answer: RuntimeApplicationDetails }),
  /** Ends the sync that runs. */
  terminate: route('POST', '/v1/applications/{id}/terminate', { answer: RuntimeApplicationDetails }),
}

/** Rollouts as their runtimes have reported them. `rollouts` asks the runtimes. */
export const reportedRollouts = {
  list: route('GET', '/v1/gitops-rollouts', { query: ReportedRolloutQuery, answer: page(ReportedRollout) }),
  /** Shows a rollout by its id, or by RUNTIME/NAMESPACE/NAME, with its revisions and history. */
  get: route('GET', '/v1/gitops-rollouts/{id}', { answer: ReportedRolloutDetails }),
}

/** Workflows as their runtimes have reported them, also those that are gone. */
export const reportedWorkflows = {
  list: route('GET', '/v1/gitops-workflows', { query: ReportedWorkflowQuery, answer: page(ReportedWorkflow) }),
  /** Shows a workflow by its id, or by RUNTIME/NAMESPACE/NAME, with its failed pods and history. */
  get: route('GET', '/v1/gitops-workflows/{id}', { answer: ReportedWorkflowDetails }),
}

/** The calls of users to a GitOps runtime: its app-proxy, with the key of the user, at the URL of the runtime. */
import {
  ApplicationChange,
  ApplicationEdit,
  ApplicationEvent,
  ApplicationFile,
  ApplicationFileQuery,
  ApplicationName,
  ApplicationRemoval,
  AppliedApplication,
  AppliedQuery,
  ArgoRolloutsChange,
  ArgoRolloutsInput,
  ClusterName,
  EventQuery,
  GitIntegration,
  GitIntegrationInput,
  GitRegistration,
  GitSourceChange,
  GitSourceInput,
  GitSourceName,
  GitTokenInput,
  Id,
  IntegrationName,
  JiraIntegrationInput,
  ListedGitSource,
  ContainerLog,
  ContainerLogQuery,
  DeliveryPipelineChange,
  DeliveryPipelineList,
  ManagedCluster,
  ManagedClusterChange,
  ManagedClusterInput,
  NewApplication,
  NewDeliveryPipeline,
  NewGitSource,
  page,
  RefreshInput,
  RegistryIntegrationInput,
  RepositoryChange,
  ResourceDifference,
  ResourceKey,
  ResourceManifest,
  ResourceNode,
  RollbackInput,
  Rollout,
  ROLLOUT_ACTIONS,
  RolloutActionInput,
  RolloutRollbackAvailability,
  RolloutRollbackInput,
  RolloutRollbackQuery,
  RolloutRolledBack,
  RuntimeApplication,
  RuntimeApplicationDetails,
  RuntimeChart,
  RuntimeChartChange,
  RuntimeChartInput,
  SERVICE_TYPES,
  ServiceIntegration,
  ServiceIntegrationChange,
  SharedConfiguration,
  SharedConfigurationChange,
  SharedConfigurationInput,
  SharedConfigurationRemoval,
  SyncInput,
  tolerant,
  RuntimeWorkflow,
  WorkflowInput,
  WorkflowList,
  WorkflowListQuery,
  WorkflowLog,
  WorkflowLogQuery,
  WorkflowName,
  WorkflowRemoval,
  WorkflowSubmission,
  type Client,
} from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

const BASE = '/app-proxy/api'
const BySource = z.object({ name: GitSourceName })
const ByIntegration = z.object({ name: IntegrationName })
const ByCluster = z.object({ name: ClusterName })
const ByApplication = z.object({ name: ApplicationName })
const ByWorkflow = z.object({ name: WorkflowName })

export const GITOPS_RUNTIME_ROUTES = {
  /** Returns what the shared configuration repository has of the runtime. */
  configuration: route('GET', `${BASE}/shared-configuration`, { answer: SharedConfiguration }),
  /** Chooses the repository for the account, unless it has one, and adds the runtime to it. */
  setConfiguration: route('PUT', `${BASE}/shared-configuration`, {
    body: SharedConfigurationInput,
    answer: SharedConfigurationChange,
  }),
  /** Ends that the runtime applies the repository, and removes its files. What it has applied stays. */
  removeConfiguration: route('DELETE', `${BASE}/shared-configuration`, { answer: SharedConfigurationRemoval }),
  /** Returns the chart of the runtime that the repository has. */
  chart: route('GET', `${BASE}/runtime-chart`, { answer: RuntimeChart }),
  setChart: route('PUT', `${BASE}/runtime-chart`, { body: RuntimeChartInput, answer: RuntimeChartChange }),
  gitSources: route('GET', `${BASE}/git-sources`, { answer: page(ListedGitSource) }),
  createGitSource: route('POST', `${BASE}/git-sources`, { body: NewGitSource, answer: GitSourceChange }),
  editGitSource: route('PUT', `${BASE}/git-sources/{name}`, {
    params: BySource,
    body: GitSourceInput,
    answer: GitSourceChange,
  }),
  deleteGitSource: route('DELETE', `${BASE}/git-sources/{name}`, { params: BySource, answer: RepositoryChange }),
  integrations: route('GET', `${BASE}/git-integrations`, { answer: page(GitIntegration) }),
  /** Creates or replaces an integration. */
  putIntegration: route('PUT', `${BASE}/git-integrations/{name}`, {
    params: ByIntegration,
    body: GitIntegrationInput,
    answer: GitIntegration,
  }),
  /** Removes an integration with the Git tokens of its users. */
  removeIntegration: route('DELETE', `${BASE}/git-integrations/{name}`, { params: ByIntegration, answer: 'nothing' }),
  /** Registers the Git token of the caller, after its forge has said whose it is. */
  registerToken: route('PUT', `${BASE}/git-integrations/{name}/token`, {
    params: ByIntegration,
    body: GitTokenInput,
    answer: GitRegistration,
  }),
  removeToken: route('DELETE', `${BASE}/git-integrations/{name}/token`, { params: ByIntegration, answer: 'nothing' }),
  /** Removes the Git token of another user. */
  removeTokenOf: route('DELETE', `${BASE}/git-integrations/{name}/tokens/{user}`, {
    params: ByIntegration.extend({ user: Id }),
    answer: 'nothing',
  }),
  /** Registers the Git token with which the runtime carries out releases. */
  registerRuntimeToken: route('PUT', `${BASE}/git-integrations/{name}/runtime-token`, {
    params: ByIntegration,
    body: GitTokenInput,
    answer: GitRegistration,
  }),
  removeRuntimeToken: route('DELETE', `${BASE}/git-integrations/{name}/runtime-token`, {
    params: ByIntegration,
    answer: 'nothing',
  }),
  serviceIntegrations: route('GET', `${BASE}/service-integrations`, { answer: page(ServiceIntegration) }),
  /** Seals the login of a registry, and commits it. */
  putRegistry: route('PUT', `${BASE}/service-integrations/registry/{name}`, {
    params: ByIntegration,
    body: RegistryIntegrationInput,
    answer: ServiceIntegrationChange,
  }),
  putJira: route('PUT', `${BASE}/service-integrations/jira/{name}`, {
    params: ByIntegration,
    body: JiraIntegrationInput,
    answer: ServiceIntegrationChange,
  }),
  removeService: route('DELETE', `${BASE}/service-integrations/{type}/{name}`, {
    params: z.object({ type: z.enum(SERVICE_TYPES), name: IntegrationName }),
    answer: RepositoryChange,
  }),
  clusters: route('GET', `${BASE}/clusters`, { answer: page(ManagedCluster) }),
  /** Stores the credentials of a cluster in the runtime, and commits its file. */
  addCluster: route('POST', `${BASE}/clusters`, { body: ManagedClusterInput, answer: ManagedClusterChange }),
  applications: route('GET', `${BASE}/applications`, { answer: page(RuntimeApplication) }),
  application: route('GET', `${BASE}/applications/{name}`, { params: ByApplication, answer: RuntimeApplicationDetails }),
  /** Commits the manifest of a new application to a Git source. */
  createApplication: route('POST', `${BASE}/applications`, { body: NewApplication, answer: ApplicationChange }),
  /** Returns the manifest of an application that a Git source has. */
  applicationFile: route('GET', `${BASE}/applications/{name}/file`, {
    params: ByApplication,
    query: ApplicationFileQuery,
    answer: ApplicationFile,
  }),
  /** Commits a change of it. */
  editApplication: route('PUT', `${BASE}/applications/{name}/file`, {
    params: ByApplication,
    body: ApplicationEdit,
    answer: ApplicationChange,
  }),
  /** Returns how far Argo CD is with a commit that wrote it. */
  appliedApplication: route('GET', `${BASE}/applications/{name}/applied`, {
    params: ByApplication,
    query: AppliedQuery,
    answer: AppliedApplication,
  }),
  /** Deletes an application, by default with its objects. */
  deleteApplication: route('DELETE', `${BASE}/applications/{name}`, {
    params: ByApplication,
    query: ApplicationRemoval,
    answer: RuntimeApplicationDetails,
  }),
  /** Starts a sync. */
  syncApplication: route('POST', `${BASE}/applications/{name}/sync`, {
    params: ByApplication,
    body: SyncInput,
    answer: RuntimeApplicationDetails,
  }),
  /** Starts a sync to an earlier deployment. */
  rollBackApplication: route('POST', `${BASE}/applications/{name}/rollback`, {
    params: ByApplication,
    body: RollbackInput,
    answer: RuntimeApplicationDetails,
  }),
  /** Compares an application with its source, and waits for the result. */
  refreshApplication: route('POST', `${BASE}/applications/{name}/refresh`, {
    params: ByApplication,
    body: RefreshInput,
    answer: RuntimeApplicationDetails,
  }),
  /** Ends the sync that runs. */
  terminateApplication: route('POST', `${BASE}/applications/{name}/terminate`, {
    params: ByApplication,
    answer: RuntimeApplicationDetails,
  }),
  applicationTree: route('GET', `${BASE}/applications/{name}/tree`, { params: ByApplication, answer: page(ResourceNode) }),
  applicationDiff: route('GET', `${BASE}/applications/{name}/diff`, { params: ByApplication, answer: page(ResourceDifference) }),
  applicationLogs: route('GET', `${BASE}/applications/{name}/logs`, {
    params: ByApplication,
    query: ContainerLogQuery,
    answer: ContainerLog,
  }),
  /** Returns an object of an application as the cluster has it. */
  applicationResource: route('GET', `${BASE}/applications/{name}/resource`, {
    params: ByApplication,
    query: ResourceKey,
    answer: ResourceManifest,
  }),
  applicationEvents: route('GET', `${BASE}/applications/{name}/events`, {
    params: ByApplication,
    query: EventQuery,
    answer: page(ApplicationEvent),
  }),
  /** Deletes an object of an application. */
  deleteResource: route('POST', `${BASE}/applications/{name}/delete-resource`, {
    params: ByApplication,
    body: ResourceKey,
    answer: 'nothing',
  }),
  /** Lists the triggers of the sensors in all Git sources. */
  deliveryPipelines: route('GET', `${BASE}/delivery-pipelines`, { answer: DeliveryPipelineList }),
  /** Commits the files of a new delivery pipeline to a Git source, and creates its webhook. */
  createDeliveryPipeline: route('POST', `${BASE}/delivery-pipelines`, {
    body: NewDeliveryPipeline,
    answer: DeliveryPipelineChange,
  }),
  /** Lists workflows of Argo Workflows, newest first. */
  workflows: route('GET', `${BASE}/workflows`, { query: WorkflowListQuery, answer: WorkflowList }),
  workflow: route('GET', `${BASE}/workflows/{name}`, { params: ByWorkflow, answer: RuntimeWorkflow }),
  workflowLogs: route('GET', `${BASE}/workflows/{name}/logs`, {
    params: ByWorkflow,
    query: WorkflowLogQuery,
    answer: WorkflowLog,
  }),
  /** Submits a workflow of a template of the namespace. */
  submitTemplate: route('POST', `${BASE}/workflow-templates/{name}/submit`, {
    params: ByWorkflow,
    body: WorkflowInput,
    answer: RuntimeWorkflow,
  }),
  /** Submits any workflow. */
  submitWorkflow: route('POST', `${BASE}/workflows`, { body: WorkflowSubmission, answer: RuntimeWorkflow }),
  /** Submits a workflow with the spec of another one. */
  resubmitWorkflow: route('POST', `${BASE}/workflows/{name}/resubmit`, {
    params: ByWorkflow,
    body: WorkflowInput,
    answer: RuntimeWorkflow,
  }),
  /** Lets the nodes that failed run again. */
  retryWorkflow: route('POST', `${BASE}/workflows/{name}/retry`, { params: ByWorkflow, answer: RuntimeWorkflow }),
  /** Ends a workflow, with its exit handler. */
  stopWorkflow: route('POST', `${BASE}/workflows/{name}/stop`, { params: ByWorkflow, answer: RuntimeWorkflow }),
  /** Ends a workflow at once. */
  terminateWorkflow: route('POST', `${BASE}/workflows/{name}/terminate`, { params: ByWorkflow, answer: RuntimeWorkflow }),
  deleteWorkflow: route('DELETE', `${BASE}/workflows/{name}`, { params: ByWorkflow, query: WorkflowRemoval, answer: 'nothing' }),
  rollouts: route('GET', `${BASE}/applications/{name}/rollouts`, { params: ByApplication, answer: page(Rollout) }),
  /** Tells whether an earlier revision of a rollout can be restored. */
  rolloutRollback: route('GET', `${BASE}/applications/{name}/rollouts/rollback`, {
    params: ByApplication,
    query: RolloutRollbackQuery,
    answer: RolloutRollbackAvailability,
  }),
  /** Restores an earlier revision of a rollout. */
  rollBackRollout: route('POST', `${BASE}/applications/{name}/rollouts/rollback`, {
    params: ByApplication,
    body: RolloutRollbackInput,
    answer: RolloutRolledBack,
  }),
  /** Pauses, resumes, promotes, aborts, retries or restarts a rollout, or skips its step. */
  actOnRollout: route('POST', `${BASE}/applications/{name}/rollouts/{action}`, {
    params: ByApplication.extend({ action: z.enum(ROLLOUT_ACTIONS) }),
    body: RolloutActionInput,
    answer: Rollout,
  }),
  /** Commits the application that installs Argo Rollouts in a cluster. */
  createArgoRollouts: route('POST', `${BASE}/clusters/{name}/argo-rollouts`, {
    params: ByCluster,
    body: ArgoRolloutsInput,
    answer: ArgoRolloutsChange,
  }),
  removeCluster: route('DELETE', `${BASE}/clusters/{name}`, { params: ByCluster, answer: RepositoryChange }),
}

export type GitopsRuntimeCalls = Calls<typeof GITOPS_RUNTIME_ROUTES>

/** Returns the calls. The URL of the client is that of the runtime. */
export function gitopsRuntimeCalls(client: Client): GitopsRuntimeCalls {
  return bindCalls(client, GITOPS_RUNTIME_ROUTES, tolerant)
}

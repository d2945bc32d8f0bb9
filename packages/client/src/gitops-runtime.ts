/** The calls of users to a GitOps runtime: its app-proxy, with the key of the user, at the URL of the runtime. */
import {
  ClusterName,
  GitSourceChange,
  GitSourceInput,
  GitSourceName,
  ListedGitSource,
  ManagedCluster,
  ManagedClusterChange,
  ManagedClusterInput,
  NewGitSource,
  page,
  RepositoryChange,
  RuntimeChart,
  RuntimeChartChange,
  RuntimeChartInput,
  SharedConfiguration,
  SharedConfigurationChange,
  SharedConfigurationInput,
  tolerant,
  type Client,
} from '@windlass/protocol'
import { z } from 'zod'
import { bindCalls, type Calls } from './calls.ts'
import { route } from './route.ts'

const BASE = '/app-proxy/api'
const BySource = z.object({ name: GitSourceName })
const ByCluster = z.object({ name: ClusterName })

export const GITOPS_RUNTIME_ROUTES = {
  /** Returns what the shared configuration repository has of the runtime. */
  configuration: route('GET', `${BASE}/shared-configuration`, { answer: SharedConfiguration }),
  /** Chooses the repository for the account, unless it has one, and adds the runtime to it. */
  setConfiguration: route('PUT', `${BASE}/shared-configuration`, {
    body: SharedConfigurationInput,
    answer: SharedConfigurationChange,
  }),
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
  clusters: route('GET', `${BASE}/clusters`, { answer: page(ManagedCluster) }),
  /** Stores the credentials of a cluster in the runtime, and commits its file. */
  addCluster: route('POST', `${BASE}/clusters`, { body: ManagedClusterInput, answer: ManagedClusterChange }),
  removeCluster: route('DELETE', `${BASE}/clusters/{name}`, { params: ByCluster, answer: RepositoryChange }),
}

export type GitopsRuntimeCalls = Calls<typeof GITOPS_RUNTIME_ROUTES>

/** Returns the calls. The URL of the client is that of the runtime. */
export function gitopsRuntimeCalls(client: Client): GitopsRuntimeCalls {
  return bindCalls(client, GITOPS_RUNTIME_ROUTES, tolerant)
}

/** Agents, runtimes, clusters and installations. */
import {
  Agent,
  AgentChecks,
  AgentCreated,
  AgentInput,
  AgentPatch,
  AgentRemoval,
  CertificateRequest,
  Cluster,
  ClusterInput,
  ClusterObject,
  DiskPage,
  DiskQuery,
  DiskRemoval,
  DoctorReport,
  Health,
  Installation,
  InstallationEventInput,
  InstallationInput,
  Monitor,
  ObjectQuery,
  page,
  Runtime,
  RuntimeActivity,
  RuntimeBase,
  RuntimeBaseInput,
  RuntimeBaseQuery,
  RuntimeChange,
  RuntimeDiff,
  RuntimeDiffQuery,
  RuntimeImages,
  RuntimeInput,
  RuntimeQuery,
  RuntimeRemoval,
  RuntimeVersion,
  ServerHealth,
  SignedCertificate,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const agents = {
  list: route('GET', '/v1/agents', { answer: page(Agent) }),
  /** Registers an agent. The token of a deleted agent restores that agent. Throws `conflict` if the name is in use. */
  create: route('POST', '/v1/agents', { body: AgentInput, answer: AgentCreated, isKeyed: true }),
  get: route('GET', '/v1/agents/{name}', { answer: Agent }),
  put: route('PUT', '/v1/agents/{name}', { body: AgentInput.omit({ token: true }), answer: Agent }),
  patch: route('PATCH', '/v1/agents/{name}', { body: AgentPatch, answer: Agent }),
  /** Issues a new token. The old one is invalid immediately. */
  renewToken: route('POST', '/v1/agents/{name}/token', { answer: AgentCreated, isKeyed: true }),
  delete: route('DELETE', '/v1/agents/{name}', { query: AgentRemoval, answer: 'nothing' }),
  /** Returns the last checks of the agent. */
  checks: route('GET', '/v1/agents/{name}/checks', { answer: AgentChecks }),
  /** Lets the agent check its clusters, and waits shortly for the findings. Throws `agent-not-connected`. */
  check: route('POST', '/v1/agents/{name}/checks', { answer: AgentChecks }),
  /** Stores the findings of `windlass doctor`. */
  putChecks: route('PUT', '/v1/agents/{name}/checks', { body: DoctorReport, answer: AgentChecks }),
  /** Returns the agent of the client's own token. Throws `unauthenticated`. */
  self: route('GET', '/v1/agent', { answer: Agent }),
}

export const runtimes = {
  list: route('GET', '/v1/runtimes', { answer: page(Runtime) }),
  create: route('POST', '/v1/runtimes', { body: RuntimeInput, answer: Runtime, isKeyed: true }),
  /** Returns a runtime: `version` selects an older one, `merged` includes everything that it extends. */
  get: route('GET', '/v1/runtimes/{name}', { query: RuntimeQuery, answer: Runtime }),
  /** Creates or replaces a runtime, which adds a version of its specification. */
  put: route('PUT', '/v1/runtimes/{name}', { query: RuntimeChange, body: RuntimeInput, answer: Runtime }),
  delete: route('DELETE', '/v1/runtimes/{name}', { query: RuntimeRemoval, answer: 'nothing' }),
  makeDefault: route('POST', '/v1/runtimes/{name}/default', { answer: Runtime }),
  /** Lists the versions of the specification, newest first. */
  versions: route('GET', '/v1/runtimes/{name}/versions', { answer: page(RuntimeVersion) }),
  diff: route('GET', '/v1/runtimes/{name}/diff', { query: RuntimeDiffQuery, answer: RuntimeDiff }),
  images: route('GET', '/v1/runtimes/{name}/images', { answer: RuntimeImages }),
  /** Returns running and waiting builds, warm pairs, and the load of the last 24 hours. */
  activity: route('GET', '/v1/runtimes/{name}/activity', { answer: RuntimeActivity }),
}

/** Disks of builds. */
export const disks = {
  list: route('GET', '/v1/disks', { query: DiskQuery, answer: DiskPage }),
  /** Lets the agent remove a disk, by id or name, and waits shortly for it. Throws `disk-in-use`. */
  delete: route('DELETE', '/v1/disks/{id}', { answer: DiskRemoval }),
}

/** Health in one sentence, with findings and hints. */
export const health = {
  server: route('GET', '/v1/health', { answer: ServerHealth }),
  runtime: route('GET', '/v1/health/runtimes/{name}', { answer: Health }),
}

/** Layers that runtimes extend. */
export const runtimeBases = {
  list: route('GET', '/v1/runtime-bases', { answer: page(RuntimeBase) }),
  /** Returns a layer; `merged` includes everything that it extends. */
  get: route('GET', '/v1/runtime-bases/{name}', { query: RuntimeBaseQuery, answer: RuntimeBase }),
  /** Creates or replaces a layer. Throws `request-invalid` if a runtime that extends it would become inconsistent. */
  put: route('PUT', '/v1/runtime-bases/{name}', { body: RuntimeBaseInput, answer: RuntimeBase }),
  /** Deletes a stored layer; a built-in one of the same name applies again. */
  delete: route('DELETE', '/v1/runtime-bases/{name}', { answer: 'nothing' }),
}

export const clusters = {
  list: route('GET', '/v1/clusters', { answer: page(Cluster) }),
  create: route('POST', '/v1/clusters', { body: ClusterInput, answer: Cluster, isKeyed: true }),
  get: route('GET', '/v1/clusters/{name}', { answer: Cluster }),
  delete: route('DELETE', '/v1/clusters/{name}', { answer: 'nothing' }),
}

export const certificates = {
  /** Signs the certificate of the Docker daemons of a namespace. */
  sign: route('POST', '/v1/certificates', { body: CertificateRequest, answer: SignedCertificate }),
}

export const installations = {
  /** Lists installations, newest first. */
  list: route('GET', '/v1/installations', { answer: page(Installation) }),
  create: route('POST', '/v1/installations', { body: InstallationInput, answer: Installation, isKeyed: true }),
  get: route('GET', '/v1/installations/{id}', { answer: Installation }),
  report: route('POST', '/v1/installations/{id}/events', {
    body: InstallationEventInput,
    answer: Installation,
    isKeyed: true,
  }),
}

export const monitors = {
  list: route('GET', '/v1/monitors', { answer: page(Monitor) }),
  /** Deletes the reported objects of a cluster. */
  delete: route('DELETE', '/v1/monitors/{cluster}', { answer: 'nothing' }),
  /** Lists the reported objects of a cluster. */
  objects: route('GET', '/v1/monitors/{cluster}/objects', { query: ObjectQuery, answer: page(ClusterObject) }),
}

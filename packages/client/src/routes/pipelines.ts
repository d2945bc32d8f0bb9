/** Pipelines and what they consist of. Names may contain slashes; ids are accepted as well. */
import {
  BranchQuery,
  Context,
  ContextCheck,
  ContextCheckInput,
  ContextInput,
  page,
  PageQuery,
  Pipeline,
  PipelineChange,
  PipelineDiff,
  PipelineDiffQuery,
  PipelineInput,
  PipelineQuery,
  PipelineStats,
  PipelineVersion,
  PipelineVersionContent,
  PipelineVersionsQuery,
  Project,
  ProjectInput,
  ProjectQuotasInput,
  SeenBranch,
  StepTypeResource,
  StepTypeInput,
  StatsQuery,
  Validation,
  ValidationInput,
} from '@windlass/protocol'
import { route } from '../route.ts'

export const pipelines = {
  list: route('GET', '/v1/pipelines', { query: PipelineQuery, answer: page(Pipeline) }),
  create: route('POST', '/v1/pipelines', { query: PipelineChange, body: PipelineInput, answer: Pipeline, isKeyed: true }),
  get: route('GET', '/v1/pipelines/{name}', { answer: Pipeline }),
  /** Creates or replaces a pipeline. Adds a version if something changes; `message` says why. */
  put: route('PUT', '/v1/pipelines/{name}', { query: PipelineChange, body: PipelineInput, answer: Pipeline }),
  delete: route('DELETE', '/v1/pipelines/{name}', { answer: 'nothing' }),
  /** Lists branches that builds of a pipeline or events for it had, the latest first. */
  branches: route('GET', '/v1/pipelines/{name}/branches', { query: BranchQuery, answer: page(SeenBranch) }),
  /** Lists the versions of a pipeline, newest first. */
  versions: route('GET', '/v1/pipelines/{name}/versions', { query: PipelineVersionsQuery, answer: page(PipelineVersion) }),
  /** Returns the document and the settings of a version. */
  version: route('GET', '/v1/pipelines/{name}/versions/{version}', { answer: PipelineVersionContent }),
  /** Compares a version with another one, by default the one before it. */
  diff: route('GET', '/v1/pipelines/{name}/versions/{version}/diff', { query: PipelineDiffQuery, answer: PipelineDiff }),
  /** Writes a version again, as a new one. */
  restore: route('POST', '/v1/pipelines/{name}/versions/{version}/restore', { answer: Pipeline }),
  /** Returns the statistics of a pipeline: percentiles, waits by cause, slower and flaky steps. */
  stats: route('GET', '/v1/pipelines/{name}/stats', { query: StatsQuery, answer: PipelineStats }),
  /** Validates a document without storing it. */
  validate: route('POST', '/v1/validate', { body: ValidationInput, answer: Validation }),
}

export const projects = {
  list: route('GET', '/v1/projects', { query: PageQuery, answer: page(Project) }),
  create: route('POST', '/v1/projects', { body: ProjectInput, answer: Project, isKeyed: true }),
  get: route('GET', '/v1/projects/{name}', { answer: Project }),
  put: route('PUT', '/v1/projects/{name}', { body: ProjectInput, answer: Project }),
  delete: route('DELETE', '/v1/projects/{name}', { answer: 'nothing' }),
  putQuotas: route('PUT', '/v1/projects/{name}/quotas', { body: ProjectQuotasInput, answer: Project }),
}

export const contexts = {
  list: route('GET', '/v1/contexts', { answer: page(Context) }),
  create: route('POST', '/v1/contexts', { body: ContextInput, answer: Context, isKeyed: true }),
  get: route('GET', '/v1/contexts/{name}', { answer: Context }),
  put: route('PUT', '/v1/contexts/{name}', { body: ContextInput, answer: Context }),
  delete: route('DELETE', '/v1/contexts/{name}', { answer: 'nothing' }),
  /** Lists the last check by the agent of each runtime, the latest first. */
  checks: route('GET', '/v1/contexts/{name}/checks', { answer: page(ContextCheck) }),
  /** Lets the agent of a runtime check the context, and waits shortly for the result. */
  check: route('POST', '/v1/contexts/{name}/check', { body: ContextCheckInput, answer: ContextCheck }),
}

export const stepTypes = {
  /** Lists the latest version of each step type. */
  list: route('GET', '/v1/step-types', { query: PageQuery, answer: page(StepTypeResource) }),
  create: route('POST', '/v1/step-types', { body: StepTypeInput, answer: StepTypeResource, isKeyed: true }),
  /** Returns the latest version, or the one in `name:version`. */
  get: route('GET', '/v1/step-types/{name}', { answer: StepTypeResource }),
  put: route('PUT', '/v1/step-types/{name}', { body: StepTypeInput, answer: StepTypeResource }),
  /** Deletes one version: `name:version`. */
  delete: route('DELETE', '/v1/step-types/{name}', { answer: 'nothing' }),
  /** Lists the versions of a step type, latest first. */
  versions: route('GET', '/v1/step-types/{name}/versions', { answer: page(StepTypeResource) }),
}

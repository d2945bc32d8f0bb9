/** Statuses of builds and steps, and the reasons behind them. Docs, schemas and tests are generated from or checked against this file. */

export const BUILD_STATUSES = [
  'pending',
  'delayed',
  'elected',
  'running',
  'pending-approval',
  'terminating',
  'success',
  'error',
  'terminated',
] as const
export type BuildStatus = (typeof BUILD_STATUSES)[number]

export const FINAL_BUILD_STATUSES = ['success', 'error', 'terminated'] as const
export type FinalBuildStatus = (typeof FINAL_BUILD_STATUSES)[number]

export const STEP_STATUSES = ['pending', 'running', 'waiting', 'success', 'error', 'skipped', 'terminated'] as const
export type StepStatus = (typeof STEP_STATUSES)[number]

export const FINAL_STEP_STATUSES = ['success', 'error', 'skipped', 'terminated'] as const
export type FinalStepStatus = (typeof FINAL_STEP_STATUSES)[number]

/** What starts builds. `variable` is the value of CF_BUILD_TRIGGER, for which Codefresh documents two. */
export const TRIGGERS = {
  manual: { variable: 'build', text: 'A user started the build.' },
  restart: { variable: 'build', text: 'A user repeated an earlier build.' },
  build: { variable: 'build', text: 'A step of another build started it.' },
  cron: { variable: 'build', text: 'A cron trigger started the build at its time.' },
  webhook: { variable: 'webhook', text: 'A trigger started the build for an event of a forge.' },
  registry: { variable: 'webhook', text: 'A trigger started the build for an image or a chart.' },
  release: { variable: 'build', text: 'A hook of a release of a product started the build.' },
  completion: { variable: 'build', text: 'A trigger started the build after a build of another pipeline.' },
} as const satisfies Readonly<Record<string, { readonly variable: 'build' | 'webhook'; readonly text: string }>>
export type TriggerKind = keyof typeof TRIGGERS
export const TRIGGER_KINDS = Object.keys(TRIGGERS) as TriggerKind[]

/** What started a build. */
export interface Trigger {
  readonly kind: TriggerKind
  /** Name of the trigger of the pipeline that started the build, or that the build simulates. */
  readonly name?: string | undefined
}

/** Message of each reason. `blame` says who can fix it; infra reasons are retried as a new attempt. */
export const REASONS = {
  'exit-code': { blame: 'user', text: 'A command ended with a non-zero exit code.' },
  timeout: { blame: 'user', text: 'The step reached its time limit.' },
  'out-of-memory': { blame: 'user', text: 'The step was killed because it exceeded its memory limit.' },
  'image-not-found': { blame: 'user', text: 'The image does not exist or the credentials do not allow pulling it.' },
  'command-not-found': { blame: 'user', text: 'The command, shell or entry point was not found in the image.' },
  'mount-invalid': { blame: 'user', text: 'A volume of the step cannot be mounted.' },
  'clone-failed': { blame: 'user', text: 'The repository could not be cloned at this revision.' },
  'build-failed': { blame: 'user', text: 'The image build failed.' },
  'push-failed': { blame: 'user', text: 'The image push failed.' },
  'service-failed': { blame: 'user', text: 'A service of the step did not start or did not become ready.' },
  'composition-failed': {
    blame: 'user',
    text: 'A candidate of the composition failed or the composition could not be started.',
  },
  'deploy-failed': { blame: 'user', text: 'The deployment was rejected or did not become ready in time.' },
  'sign-failed': { blame: 'user', text: 'The image could not be signed.' },
  'debug-timeout': { blame: 'user', text: 'The debugger held the step longer than allowed.' },
  'debug-failed': { blame: 'user', text: 'The step was ended as failed in the debugger.' },
  'condition-error': { blame: 'user', text: 'The condition of the step cannot be evaluated.' },
  'step-failed': { blame: 'user', text: 'A step failed.' },
  denied: { blame: 'user', text: 'The approval was denied.' },
  'invalid-pipeline': { blame: 'user', text: 'The pipeline document has errors.' },
  'invalid-step': { blame: 'user', text: 'A field of the step is invalid after variable substitution.' },
  'integration-missing': { blame: 'user', text: 'The pipeline refers to an integration that does not exist.' },

  'engine-lost': { blame: 'infra', text: 'The engine stopped reporting.' },
  'dind-lost': { blame: 'infra', text: 'The Docker daemon of the build was lost.' },
  'node-lost': { blame: 'infra', text: 'The node that ran the build is gone.' },
  evicted: { blame: 'infra', text: 'Kubernetes evicted a pod of the build.' },
  'pod-deleted': { blame: 'infra', text: 'A pod of the build was deleted by another client.' },
  'pod-rejected': { blame: 'infra', text: 'The cluster rejected an object of the build.' },
  'pod-image-error': { blame: 'infra', text: 'The image of a build pod cannot be pulled.' },
  'pod-failed': { blame: 'infra', text: 'A pod of the build ended unexpectedly.' },
  'policy-refused': { blame: 'infra', text: 'The policy of the agent rejected an object of the build.' },
  unschedulable: { blame: 'infra', text: 'No node has room for a pod of the build.' },
  'disk-full': { blame: 'infra', text: 'The disk of the build has no space left.' },
  'node-disk-full': { blame: 'infra', text: 'The disk of a node has no space left.' },
  'disk-unavailable': { blame: 'infra', text: 'No disk is available for the build.' },
  'engine-silent': { blame: 'infra', text: 'The engine pod is running but has not contacted the server.' },
  'start-timeout': { blame: 'infra', text: 'The engine did not start in time.' },
  'agent-lost': { blame: 'infra', text: 'The agent stopped reporting.' },
  'infra-poison': { blame: 'infra', text: 'The engine of the build was killed three times in a row.' },
  internal: { blame: 'infra', text: 'Internal error in Windlass.' },

  cancelled: { blame: 'control', text: 'The build was terminated by a user.' },
  'approval-timeout': { blame: 'control', text: 'The approval timed out.' },
  inactive: { blame: 'control', text: 'The build showed no activity for too long.' },
  'too-long': { blame: 'control', text: 'The build reached the time limit for builds.' },
  'parent-terminated': { blame: 'control', text: 'The build that started this one was terminated.' },
  'queue-expired': { blame: 'control', text: 'The build reached the time limit for queued builds.' },
  superseded: { blame: 'control', text: 'The build was replaced by a newer one.' },
  'not-reached': { blame: 'control', text: 'An earlier step failed.' },
  'condition-false': { blame: 'control', text: 'The condition of the step is not met.' },
  'not-selected': { blame: 'control', text: 'The step was not selected for this run.' },

  queued: { blame: 'waiting', text: 'The build is queued.' },
  'project-limit': { blame: 'waiting', text: 'The project reached its limit of concurrent builds.' },
  'pipeline-limit': { blame: 'waiting', text: 'The pipeline reached its limit of concurrent builds.' },
  'branch-limit': { blame: 'waiting', text: 'The branch reached its limit of concurrent builds.' },
  'trigger-limit': { blame: 'waiting', text: 'The trigger reached its limit of concurrent builds.' },
  'pipeline-frozen': { blame: 'waiting', text: 'The pipeline is frozen and cannot run builds.' },
  'account-paused': { blame: 'waiting', text: 'New builds of the account are paused.' },
  'account-limit': { blame: 'waiting', text: 'The account reached its limit of concurrent builds.' },
  'runtime-capacity': { blame: 'waiting', text: 'The runtime environment is at capacity.' },
  'agent-offline': { blame: 'waiting', text: 'The agent of the runtime environment is not connected.' },
  'runtime-missing': { blame: 'waiting', text: 'No runtime environment is available for the build.' },
  'start-limit': { blame: 'waiting', text: 'The agent reached its limit of builds that start at once.' },
  'retry-pending': { blame: 'waiting', text: 'The next attempt starts once the pods of the lost one are gone.' },
  approval: { blame: 'waiting', text: 'The step is waiting for approval.' },
  'fork-approval': { blame: 'waiting', text: 'The pull request comes from a fork, so the build is waiting for approval.' },
  debugger: { blame: 'waiting', text: 'The step is stopped in the debugger.' },
} as const satisfies Record<string, { blame: 'user' | 'infra' | 'control' | 'waiting'; text: string }>

export type Reason = keyof typeof REASONS

export const REASON_NAMES = Object.keys(REASONS) as [Reason, ...Reason[]]

export function isFinalBuild(status: BuildStatus): status is FinalBuildStatus {
  return (FINAL_BUILD_STATUSES as readonly string[]).includes(status)
}

export function isFinalStep(status: StepStatus): status is FinalStepStatus {
  return (FINAL_STEP_STATUSES as readonly string[]).includes(status)
}

/** Returns true for a reason that the server retries with a new attempt. */
export function isInfra(reason: Reason): boolean {
  return REASONS[reason].blame === 'infra'
}
